"""A sample partner. Run it as it is, then replace `work` with your own.

usage: python3 sample.py serve            receives notifications at https://localhost:PORT
       python3 sample.py poll             fetches and acknowledges the notifications that are due
       python3 sample.py heal FROM TO     finds missing notifications between two times, and orders a replay of them
       python3 sample.py vectors FILE     checks the kit against vectors.json

Environment variables: STORE (a file), WEBHOOK_SECRET, PORT, TLS_CERT, TLS_KEY for serve; STORE, BASE_URL, CONSUMER_KEY,
CONSUMER_SECRET, SUBSCRIPTION_ID for poll and heal.
"""
import hashlib
import json
import os
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import partner

MAX_BODY = 256 * 1024


def work(notification, connection, is_newest_of_record):
    """Processes a notification. Write to your own database here; `connection` is in the open transaction of the store."""
    if "svc_eligiblity_id" in notification:  # Only a subscription with `record_changes` receives such changes.
        print(notification["change"], notification["svc_eligiblity_id"], flush=True)
    else:
        print(notification["change_reason"], notification["booking_code"], flush=True)


def serve(receiver, port, certificate=None, key=None):
    """Runs a server that answers `PUT /notifications` and `PUT /changes`. It uses TLS if a certificate is given."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version, timeout = "HTTP/1.1", 30

        def do_PUT(self):
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > MAX_BODY:
                return self.answer(413 if length.isdecimal() else 411, {}, close=True)
            names = [name.lower() for name in self.headers.keys()]
            # A repeated header is treated as missing.
            headers = {name: self.headers[name] for name in names if names.count(name) == 1}
            body = self.rfile.read(int(length))
            self.answer(*(receiver.receive(headers, body) if self.is_known() else (404, {"code": "not_found"})))

        def is_known(self):
            return self.path.endswith(("/notifications", "/changes"))

        def other(self):
            self.answer(405, {"code": "method_not_allowed"}, close=True)

        do_GET = do_POST = do_DELETE = do_PATCH = other

        def answer(self, status, body, close=False):
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            if status == 405:
                self.send_header("Allow", "PUT")
            if close:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(text)

        def setup(self):
            if certificate:  # The handshake of a slow client delays only its own thread.
                self.request.settimeout(self.timeout)
                self.request.do_handshake()
            super().setup()

        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    if certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print("ready", flush=True)
    server.serve_forever()


def faults_of_bytes(file):
    """Returns a sentence about the fault if the hash in the vectors file does not match the bytes of the file."""
    name = b'  "sha256": "'
    before = file[: max(0, file.rfind(name))]
    right = name + hashlib.sha256(before).hexdigest().encode("ascii") + b'"\n}\n'
    return [] if file[len(before) :] == right else ["WRONG vectors.json: its bytes do not have the hash in `sha256`"]


def faults_of(vectors):
    """Returns a sentence for each test vector for which the kit's result differs from the expected result."""
    found = []
    for case in vectors["signatures"]:
        verdict = "genuine"
        try:
            partner.verify(case["headers"], case["body"].encode("utf-8"), case["secrets"], now=case["now"])
        except partner.InvalidSignature as fault:
            verdict = str(fault)
        found.append((case["title"], verdict, case.get("fault", "genuine")))
    for case in vectors["ordering"]:
        store, said, newest = partner.Store(":memory:"), [], []
        for one in case["received"]:
            newest.append(False)
            place = one["booking_code"], one["record"], partner.seconds(one["effective_date"])

            def note(_connection, is_newest):
                newest[-1] = is_newest

            said.append(store.once(one["id"], one["event_sequence"], place, 0, note))
        found.append((case["title"], [said, newest], [case["outcomes"], case["newest"]]))
    for case in vectors["digests"]:
        kept = []
        for one in case["kept"]:
            body = one["body"].encode("utf-8")
            at = partner.place_of(partner.parse(one["event_sequence"], body))[2]
            kept.append((one["id"], at, partner.digest_of(one["id"], one["event_sequence"], body)))
        times = partner.seconds(case["from"]), partner.seconds(case["to"])
        found.append((case["title"], partner.steps_of(kept, *times, case["step_s"]), case["steps"]))
    return [f"WRONG {title}: {said} instead of {right}" for title, said, right in found if said != right]


def main(command="", *arguments):
    env = os.environ
    if command == "vectors":
        with open(arguments[0], "rb") as opened:
            file = opened.read()
        faults = faults_of_bytes(file) + faults_of(json.loads(file))
        print("\n".join(faults) or "The vectors are right.")
        return 1 if faults else 0
    if command not in ("serve", "poll", "heal"):
        print(__doc__, file=sys.stderr)
        return 2
    store = partner.Store(env["STORE"])
    if command == "serve":
        receiver = partner.Receiver(store, work, env["WEBHOOK_SECRET"].split(" "))
        serve(receiver, int(env["PORT"]), env.get("TLS_CERT"), env.get("TLS_KEY"))
    names = ("BASE_URL", "CONSUMER_KEY", "CONSUMER_SECRET", "SUBSCRIPTION_ID")
    api = partner.Api(*[env[name] for name in names])
    if command == "poll":
        print(partner.poll(api, partner.Receiver(store, work)), "acknowledged")
    else:
        missing, calls = partner.heal(api, store, *arguments)
        print(len(missing), "missing, found in", calls, "calls")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
