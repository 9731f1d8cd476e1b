"""Verifies the notifications of the candidate eligibility service, and processes each of them once and in order.

This file needs Python 3.9 and only its standard library. Copy it into your program; sample.py shows how to use it. A
notification passes these steps, whether the service pushes it or you poll it:

1. The body must be `application/json` without a content coding. Otherwise, the response is 415.
2. The signature over the received bytes must be valid. Otherwise, the response is 401, and nothing is trusted.
3. The body must be a notification as JSON, and `event-sequence` a number. Otherwise, the response is 400.
4. For the sample notification of a verification, the response is 200, and nothing is processed.
5. The outcome is applied (your work ran in the transaction), late or repeat. For all three, the response is 200.
6. If your work raises `UnknownRecord`, the response is 400. After other errors (500), the service retries.
"""
import base64
import hashlib
import hmac
import json
import re
import sqlite3
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timezone

MAX_STEPS, HOUR, PAGE, MAX_IDS = 1000, 3600, 200, 1000
# `heal` lists the notifications of a step by creation time, which may differ from the time of the event. It therefore
# extends the period by these margins, in seconds, one after another.
MARGINS = (5, 60, 3600, 86400)


class UnknownRecord(Exception):
    """Raised by your work when it does not know the candidate or the exam. The response is then 400."""


class InvalidSignature(Exception):
    """Raised for a request that is not from the service, or is too old. Its text is one of four codes."""


class Malformed(Exception):
    """Raised for a body that comes from the service but is not a notification."""


def verify(headers, body, secrets, tolerance=300, now=None):
    """Verifies a signature of Standard Webhooks v1 with one of several secrets. The header names are in lower case."""
    parts = [headers.get(f"webhook-{name}") for name in ("id", "timestamp", "signature")]
    if not all(parts):
        raise InvalidSignature("header_missing")
    if not re.fullmatch("[0-9]{1,12}", parts[1]):
        raise InvalidSignature("timestamp_invalid")
    if abs((time.time() if now is None else now) - int(parts[1])) > tolerance:
        raise InvalidSignature("timestamp_too_far")
    right = False
    for secret in secrets:
        signed = f"{parts[0]}.{parts[1]}.".encode("latin-1") + body
        mac = hmac.new(base64.b64decode(secret[len("whsec_"):]), signed, "sha256").digest()
        expected = b"v1," + base64.b64encode(mac)
        for given in parts[2].split(" "):
            right |= hmac.compare_digest(given.encode("utf-8"), expected)
    if not right:
        raise InvalidSignature("signature_wrong")


def digest_of(id, sequence, body):
    """Returns the contribution of one notification to the digest of its time step, as a number of 256 bits."""
    return int.from_bytes(hashlib.sha256(f"{id}\n{sequence}\n".encode() + body).digest(), "big")


def seconds(text):
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp())


def is_time(text):
    try:
        return date_time(seconds(text)) == text
    except ValueError:
        return False


def date_time(at):
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def steps_of(kept, start, end, step):
    """Computes the time steps of `GET /partner/digest` from the stored notifications (id, time, digest)."""
    sums = [[0, 0] for _ in range(-((start - end) // step))]
    for _id, at, digest in kept:
        one = sums[(at - start) // step]
        one[0] += 1
        one[1] ^= digest
    times = [(start + index * step, min(start + (index + 1) * step, end)) for index in range(len(sums))]
    return [
        {"from": date_time(a), "to": date_time(b), "count": count, "digest": f"{digest:064x}"}
        for (a, b), (count, digest) in zip(times, sums)
    ]


def place_of(notification):
    """Returns the booking within which the sequence counts, the eligibility record, and the time of the event."""
    if "svc_eligiblity_id" in notification:  # A record change has the same form as in the change feed.
        key = f"record {notification['svc_eligiblity_id']}"
        return key, key, seconds(notification["at"])
    own = notification.get("candidate_id", ""), notification.get("exam_code", "")
    record = notification.get("client_eligibility_id") or "/".join(own)
    return notification["booking_code"], record, seconds(notification["effective_date"])


def parse(sequence, body):
    """Parses a notification. Unknown members are kept."""
    try:
        notification = json.loads(body.decode("utf-8"))
    except ValueError:
        raise Malformed("The body is not JSON in UTF-8.")
    if not isinstance(notification, dict) or not re.fullmatch("[1-9][0-9]{0,9}", str(sequence)):
        raise Malformed("The body is not an object, or event-sequence is not a number from 1 on.")
    texts, times = ("booking_code", "candidate_id", "change_reason"), ("booking_on", "effective_date")
    if "svc_eligiblity_id" in notification:
        texts, times = ("change", "svc_eligiblity_id"), ("at",)
    for name in texts + times:
        value = notification.get(name)
        if not isinstance(value, str) or not value or (name in times and not is_time(value)):
            raise Malformed(f"{name} is missing or malformed.")
    return notification


class Store:
    """Stores processed notifications in SQLite. Your work runs in the same transaction, on the same connection."""

    def __init__(self, path):
        self.lock = threading.RLock()
        self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        self.db.executescript(
            """PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE IF NOT EXISTS kept (id TEXT PRIMARY KEY, at INTEGER NOT NULL, digest BLOB NOT NULL);
            CREATE INDEX IF NOT EXISTS kept_at ON kept (at);
            CREATE TABLE IF NOT EXISTS last (key TEXT PRIMARY KEY, sequence INTEGER NOT NULL);
            CREATE TABLE IF NOT EXISTS newest (record TEXT PRIMARY KEY, at INTEGER NOT NULL);"""
        )

    def once(self, id, sequence, place, digest, work):
        """Calls `work(connection, is_newest_of_record)` unless the id or a later event of the booking is known.

        Returns `applied`, `late` or `repeat`. When the work raises an error, nothing is stored.
        """
        key, record, at = place
        with self.lock:
            self.db.execute("BEGIN IMMEDIATE")
            try:
                one = lambda sql, value: (self.db.execute(sql, (value,)).fetchone() or (0,))[0]
                outcome = "applied"
                if one("SELECT 1 FROM kept WHERE id = ?", id):
                    outcome = "repeat"
                elif sequence <= one("SELECT sequence FROM last WHERE key = ?", key):
                    outcome = "late"
                else:
                    is_newest = at >= one("SELECT at FROM newest WHERE record = ?", record)
                    work(self.db, is_newest)
                    self.db.execute("REPLACE INTO last VALUES (?, ?)", (key, sequence))
                    if is_newest:
                        self.db.execute("REPLACE INTO newest VALUES (?, ?)", (record, at))
                if outcome != "repeat":
                    self.db.execute("INSERT INTO kept VALUES (?, ?, ?)", (id, at, digest.to_bytes(32, "big")))
                self.db.execute("COMMIT")
                return outcome
            except BaseException:
                self.db.execute("ROLLBACK")
                raise

    def kept(self, start, end):
        """Returns (id, time, digest) of each notification that was generated at or after `start` and before `end`."""
        with self.lock:
            rows = self.db.execute("SELECT id, at, digest FROM kept WHERE at >= ? AND at < ?", (start, end))
            return [(id, at, int.from_bytes(digest, "big")) for id, at, digest in rows]


class Receiver:
    """Decides the response to a notification. You provide `work(notification, connection, is_newest_of_record)`."""

    def __init__(self, store, work, secrets=()):
        self.store, self.work, self.secrets = store, work, secrets

    def receive(self, headers, body):
        """Handles a PUT request from the service. Returns the status and a body without personal data."""
        if headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            return 415, {"code": "unsupported_media_type"}
        if "content-encoding" in headers:
            return 415, {"code": "unsupported_media_type"}
        try:
            verify(headers, body, self.secrets)
        except InvalidSignature as fault:
            return 401, {"code": str(fault)}
        return self.take(headers["webhook-id"], headers.get("event-sequence"), body)

    def take(self, id, sequence, body):
        """Handles a body that is known to come from the service, for instance from a poll."""
        try:
            notification = parse(sequence, body)
            if notification.get("booking_code", "").startswith("SAMPLE"):
                return 200, {"outcome": "sample"}
            work = lambda connection, is_newest: self.work(notification, connection, is_newest)
            digest = digest_of(id, sequence, body)
            return 200, {"outcome": self.store.once(id, int(sequence), place_of(notification), digest, work)}
        except Malformed as fault:
            return 400, {"code": "malformed", "detail": str(fault)}
        except UnknownRecord:
            return 400, {"code": "unknown_record"}
        except Exception:
            traceback.print_exc()
            return 500, {"code": "failed"}


class Api:
    """Calls the service. Obtains a token with the `partner` scope by the client credentials grant."""

    def __init__(self, base_url, key, secret, subscription_id):
        self.base, self.subscription_id, self.calls, self.token = base_url.rstrip("/") + "/", subscription_id, 0, None
        self.basic = "Basic " + base64.b64encode(f"{key}:{secret}".encode()).decode()

    def call(self, path, body=None):
        """Sends a GET request, or a POST request with a body. Returns the response and the address of the next page."""
        self.calls += 1
        for is_last in (False, True):
            try:
                if self.token is None:
                    form = urllib.parse.urlencode({"grant_type": "client_credentials", "scope": "partner"}).encode()
                    request = urllib.request.Request(self.base + "token", form, {"Authorization": self.basic})
                    with urllib.request.urlopen(request, timeout=60) as response:
                        self.token = json.load(response)["access_token"]
                data = None if body is None else json.dumps(body).encode()
                head = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
                request = urllib.request.Request(urllib.parse.urljoin(self.base, path), data, head)
                with urllib.request.urlopen(request, timeout=60) as response:
                    link = re.search(r'<([^>]*)>;\s*rel="next"', response.headers.get("Link") or "")
                    return json.load(response), link and link.group(1)
            except urllib.error.HTTPError as error:
                if error.code != 401 or is_last:
                    raise RuntimeError(f"{path} answered {error.code} {error.read().decode()}")
                self.token = None


def poll(api, receiver, forever=False):
    """Fetches and processes the due notifications of a subscription with `delivery: "POLL"`.

    Returns the number of acknowledged notifications. If your work fails, the lease of the notification expires and the
    service offers the notification again.
    """
    done, ack, refuse = 0, [], []
    while True:
        order = {"subscription_id": api.subscription_id, "max": 100, "ack": ack, "refuse": refuse}
        offered = api.call("partner/notifications/poll", {**order, "return_immediately": not forever or bool(ack)})[0]
        done, ack, refuse = done + len(ack), [], []
        if not offered["notifications"] and not forever:
            return done
        for one in offered["notifications"]:
            status, answer = receiver.take(one["id"], one["event_sequence"], one["body"].encode("utf-8"))
            if status == 200:
                ack.append(one["id"])
            elif status == 400:
                reason = "NO_MATCHING_RECORD" if answer["code"] == "unknown_record" else "OTHER"
                refuse.append({"id": one["id"], "reason": reason, "detail": json.dumps(answer)})


def heal(api, store, start, end):
    """Finds the delivered notifications that the store does not have, and requests a replay of them.

    If the service's digest of a time step differs from the store's, divides the step into smaller steps, until the
    service can list its notifications on one page. A step may contain notifications that only the partner still has;
    this is not a fault. Returns the missing ids and the number of API calls.
    """
    first, last = seconds(start), seconds(end)
    # Steps of whole hours cost the service the least, because the service stores their digests.
    whole = (first // HOUR * HOUR, -(-last // HOUR) * HOUR)
    before, missing, ranges = api.calls, [], [whole if last - first > HOUR else (first, last)]
    subscription = {"subscription_id": api.subscription_id}
    while ranges:
        a, b = ranges.pop()
        unit = HOUR if b - a > HOUR else 1
        step = unit * -((a - b) // (unit * MAX_STEPS))
        query = urllib.parse.urlencode({**subscription, "from": date_time(a), "to": date_time(b), "step_s": step})
        own = {one["from"]: one["digest"] for one in steps_of(store.kept(a, b), a, b, step)}
        for one in api.call("partner/digest?" + query)[0]:
            if one["count"] == 0 or own.get(one["from"]) == one["digest"]:
                continue
            c, d = seconds(one["from"]), seconds(one["to"])
            if one["count"] > PAGE and d - c > 1:
                ranges.append((c, d))
                continue
            for margin in MARGINS:
                filters = {**subscription, "state": "DELIVERED", "limit": PAGE}
                filters.update({"from": date_time(c - margin), "to": date_time(d + margin)})
                ids, page = [], "partner/notifications?" + urllib.parse.urlencode(filters)
                while page:
                    listed, page = api.call(page)
                    ids += [item["id"] for item in listed if one["from"] <= item["effective_date"] < one["to"]]
                if len(ids) >= one["count"]:
                    break
            # The store is read after the list, so that a notification that arrives in between is not reported.
            known = {id for id, _at, _digest in store.kept(c, d)}
            missing += [id for id in ids if id not in known]
    calls = api.calls - before
    for first in range(0, len(missing), MAX_IDS):
        api.call("partner/notifications/replay", {"ids": missing[first:first + MAX_IDS]})
    return missing, calls
