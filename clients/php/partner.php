<?php
/**
 * Verifies the notifications of the candidate eligibility service, and processes each of them once and in order.
 *
 * This file needs PHP 8.1 with OpenSSL, which every distribution includes. Copy it into your program; sample.php shows
 * how to use it. A notification passes these steps, whether the service pushes it or you poll it:
 *
 * 1. The body must be `application/json` without a content coding. Otherwise, the response is 415.
 * 2. The signature over the received bytes must be valid. Otherwise, the response is 401, and nothing is trusted.
 * 3. The body must be a notification as JSON, and `event-sequence` a number. Otherwise, the response is 400.
 * 4. For the sample notification of a verification, the response is 200, and nothing is processed.
 * 5. The store decides the outcome: applied (your work ran), late or repeat. For all three, the response is 200.
 * 6. If your work throws `UnknownRecord`, the response is 400. After other errors (500), the service retries.
 */

declare(strict_types=1);

namespace CandidateEligibility\Partner;

const MAX_STEPS = 1000;
const HOUR = 3600;
const PAGE = 200;
const MAX_IDS = 1000;
/**
 * `heal` lists the notifications of a step by creation time, which may differ from the time of the event. It therefore
 * extends the period by these margins, in seconds, one after another.
 */
const MARGINS = [5, 60, 3600, 86400];

/** Thrown by your work when it does not know the candidate or the exam. The response is then 400. */
class UnknownRecord extends \RuntimeException {}

/** Thrown for a request that is not from the service, or is too old. Its message is one of four codes. */
class InvalidSignature extends \RuntimeException {}

/** Thrown for a body that comes from the service but is not a notification. */
class Malformed extends \RuntimeException {}

/** Verifies a signature of Standard Webhooks v1 with one of several secrets. The header names are in lower case. */
function verify(array $headers, string $body, array $secrets, int $tolerance = 300, ?int $now = null): void
{
    $parts = array_map(fn ($name) => (string) ($headers["webhook-$name"] ?? ''), ['id', 'timestamp', 'signature']);
    if (in_array('', $parts, true)) {
        throw new InvalidSignature('header_missing');
    }
    [$id, $timestamp, $signatures] = $parts;
    if (!preg_match('/^[0-9]{1,12}$/D', $timestamp)) {
        throw new InvalidSignature('timestamp_invalid');
    }
    if (abs(($now ?? time()) - (int) $timestamp) > $tolerance) {
        throw new InvalidSignature('timestamp_too_far');
    }
    $isRight = false;
    foreach ($secrets as $secret) {
        $key = base64_decode(substr($secret, strlen('whsec_')));
        $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
        foreach (explode(' ', $signatures) as $given) {
            $isRight = hash_equals($expected, $given) || $isRight;
        }
    }
    if (!$isRight) {
        throw new InvalidSignature('signature_wrong');
    }
}

/** Returns the contribution of one notification to the digest of its time step, in hexadecimal digits. */
function digest_of(string $id, int $sequence, string $body): string
{
    return hash('sha256', "$id\n$sequence\n$body");
}

function seconds(string $time): int
{
    return (int) strtotime($time);
}

function date_time(int $seconds): string
{
    return gmdate('Y-m-d\TH:i:s\Z', $seconds);
}

/** Computes the time steps of `GET /partner/digest` from the stored notifications [id, time, digest]. */
function steps_of(array $kept, int $from, int $to, int $step): array
{
    $sums = array_fill(0, (int) ceil(($to - $from) / $step), [0, str_repeat("\0", 32)]);
    foreach ($kept as [, $at, $digest]) {
        $index = intdiv($at - $from, $step);
        $sums[$index] = [$sums[$index][0] + 1, $sums[$index][1] ^ hex2bin($digest)];
    }
    return array_map(fn ($index, $sum) => [
        'from' => date_time($from + $index * $step),
        'to' => date_time(min($from + ($index + 1) * $step, $to)),
        'count' => $sum[0],
        'digest' => bin2hex($sum[1]),
    ], array_keys($sums), $sums);
}

/** Returns the booking within which the sequence counts, the eligibility record, and the time of the event. */
function place_of(array $notification): array
{
    if (isset($notification['svc_eligiblity_id'])) { // A record change has the same form as in the change feed.
        $key = "record {$notification['svc_eligiblity_id']}";
        return [$key, $key, seconds($notification['at'])];
    }
    $own = ($notification['candidate_id'] ?? '') . '/' . ($notification['exam_code'] ?? '');
    $record = $notification['client_eligibility_id'] ?? $own;
    return [$notification['booking_code'], $record, seconds($notification['effective_date'])];
}

/** Parses a notification. Unknown members are kept. */
function parse(string $sequence, string $body): array
{
    $notification = json_decode($body, true);
    if (!is_array($notification) || !preg_match('/^[1-9][0-9]{0,9}$/D', $sequence)) {
        throw new Malformed('The body is not a JSON object, or event-sequence is not a number from 1 on.');
    }
    [$texts, $times] = isset($notification['svc_eligiblity_id'])
        ? [['change', 'svc_eligiblity_id'], ['at']]
        : [['booking_code', 'candidate_id', 'change_reason'], ['booking_on', 'effective_date']];
    foreach ([...$texts, ...$times] as $name) {
        $value = $notification[$name] ?? null;
        $isTime = fn () => date_time(seconds($value)) === $value;
        if (!is_string($value) || $value === '' || (in_array($name, $times, true) && !$isTime())) {
            throw new Malformed("$name is missing or malformed.");
        }
    }
    return $notification;
}

/**
 * Stores processed notifications in a folder. Several processes can use the folder at the same time. Each booking has a
 * file with one line for each notification. Your work and the write to the file are not one transaction. If the process
 * crashes between them, your work is called again.
 */
class Store
{
    public function __construct(private string $folder)
    {
        foreach (['bookings', 'records'] as $name) {
            if (!is_dir("$folder/$name") && !@mkdir("$folder/$name", 0700, true) && !is_dir("$folder/$name")) {
                throw new \RuntimeException("The folder $folder/$name cannot be created.");
            }
        }
    }

    /**
     * Calls `$work($isNewestOfRecord)` unless the id or a later event of the booking is known.
     * @return string `applied`, `late` or `repeat`; if the work throws an exception, nothing is stored
     */
    public function once(string $id, int $sequence, array $place, string $digest, callable $work): string
    {
        [$key, $record, $at] = $place;
        $booking = $this->locked('bookings', $key);
        $last = 0;
        while (($line = fgets($booking)) !== false && str_ends_with($line, "\n")) {
            $kept = json_decode($line);
            if ($kept[0] === $id) {
                return 'repeat';
            }
            $last = max($last, $kept[1]);
            $end = ftell($booking);
        }
        // A crash may have left an incomplete last line.
        ftruncate($booking, $end ?? 0);
        if ($sequence > $last) {
            $newest = $this->locked('records', $record);
            $isNewest = $at >= (int) fgets($newest);
            $work($isNewest);
            if ($isNewest) {
                $this->write($newest, sprintf("%012d\n", $at), 0);
            }
        }
        $this->write($booking, json_encode([$id, $sequence, $at, $digest]) . "\n", $end ?? 0);
        return $sequence > $last ? 'applied' : 'late';
    }

    /** Returns [id, time, digest] of each notification that was generated at or after `$from` and before `$to`. */
    public function kept(int $from, int $to): array
    {
        $all = [];
        foreach (new \FilesystemIterator("{$this->folder}/bookings") as $file) {
            foreach (file($file->getPathname()) as $line) {
                [$id, , $at, $digest] = json_decode($line) ?? ['', 0, -1, ''];
                if ($at >= $from && $at < $to) {
                    $all[] = [$id, $at, $digest];
                }
            }
        }
        return $all;
    }

    /** Opens a file and locks it, so that no other process can lock it until this handle is released. */
    private function locked(string $kind, string $key): mixed
    {
        $file = fopen("{$this->folder}/$kind/" . hash('sha256', $key), 'c+');
        if ($file === false || !flock($file, LOCK_EX)) {
            throw new \RuntimeException('The store cannot be opened.');
        }
        return $file;
    }

    private function write(mixed $file, string $text, int $at): void
    {
        fseek($file, $at);
        if (fwrite($file, $text) !== strlen($text) || !fsync($file)) {
            throw new \RuntimeException('The store cannot be written.');
        }
    }
}

/** Handles a notification and decides the response. You provide `$work($notification, $isNewestOfRecord)`. */
class Receiver
{
    public function __construct(private Store $store, private \Closure $work, private array $secrets = []) {}

    /** Handles a PUT request from the service. Returns the status and a body without personal data. */
    public function receive(array $headers, string $body): array
    {
        $type = strtolower(trim(explode(';', $headers['content-type'] ?? '')[0]));
        if ($type !== 'application/json' || isset($headers['content-encoding'])) {
            return [415, ['code' => 'unsupported_media_type']];
        }
        try {
            verify($headers, $body, $this->secrets);
        } catch (InvalidSignature $fault) {
            return [401, ['code' => $fault->getMessage()]];
        }
        return $this->take($headers['webhook-id'], (string) ($headers['event-sequence'] ?? ''), $body);
    }

    /** Handles a body that is known to come from the service, for instance from a poll. */
    public function take(string $id, string $sequence, string $body): array
    {
        try {
            $notification = parse($sequence, $body);
            if (str_starts_with($notification['booking_code'] ?? '', 'SAMPLE')) {
                return [200, ['outcome' => 'sample']];
            }
            $work = fn (bool $isNewest) => ($this->work)($notification, $isNewest);
            $digest = digest_of($id, (int) $sequence, $body);
            return [200, ['outcome' => $this->store->once($id, (int) $sequence, place_of($notification), $digest, $work)]];
        } catch (Malformed $fault) {
            return [400, ['code' => 'malformed', 'detail' => $fault->getMessage()]];
        } catch (UnknownRecord) {
            return [400, ['code' => 'unknown_record']];
        } catch (\Throwable $fault) {
            error_log((string) $fault);
            return [500, ['code' => 'failed']];
        }
    }
}

/** Calls the service. Obtains a token with the `partner` scope by the client credentials grant. */
class Api
{
    public int $calls = 0;
    private ?string $token = null;

    public function __construct(private string $base, private string $key, private string $secret, public string $subscription)
    {
        $this->base = rtrim($base, '/') . '/';
    }

    /** Sends a GET request, or a POST request with a body. Returns the response and the address of the next page. */
    public function call(string $path, ?array $body = null): array
    {
        $this->calls++;
        // A `Link` header contains an absolute address, or a path that starts at the root of the host.
        $root = preg_replace('~^(https?://[^/]+).*$~', '$1', $this->base);
        $url = preg_match('~^https?://~', $path) ? $path : ($path[0] === '/' ? $root : $this->base) . $path;
        foreach ([false, true] as $isLast) {
            $this->token ??= $this->newToken();
            [$status, $text, $head] = $this->send($url, $body === null ? null : json_encode($body), [
                "Authorization: Bearer {$this->token}",
                'Content-Type: application/json',
            ]);
            if ($status >= 200 && $status < 300) {
                preg_match('/^link: .*<([^>]*)>;\s*rel="next"/mi', $head, $link);
                return [json_decode($text, true, 512, JSON_THROW_ON_ERROR), $link[1] ?? null];
            }
            if ($status !== 401 || $isLast) {
                throw new \RuntimeException("$path answered $status $text");
            }
            $this->token = null;
        }
    }

    private function newToken(): string
    {
        $basic = 'Authorization: Basic ' . base64_encode("{$this->key}:{$this->secret}");
        $form = http_build_query(['grant_type' => 'client_credentials', 'scope' => 'partner']);
        $type = 'Content-Type: application/x-www-form-urlencoded';
        [$status, $text] = $this->send("{$this->base}token", $form, [$basic, $type]);
        return json_decode($text, true)['access_token'] ?? throw new \RuntimeException("token answered $status $text");
    }

    private function send(string $url, ?string $body, array $headers): array
    {
        $http = ['method' => $body === null ? 'GET' : 'POST', 'header' => $headers, 'ignore_errors' => true];
        $http += ['timeout' => 60, 'protocol_version' => 1.1, 'follow_location' => 0] + ($body === null ? [] : ['content' => $body]);
        $http['header'][] = 'Connection: close';
        $text = file_get_contents($url, false, stream_context_create(['http' => $http]));
        preg_match('~^HTTP/\S+ (\d+)~', $http_response_header[0] ?? '', $status);
        return [(int) ($status[1] ?? 0), (string) $text, implode("\n", $http_response_header ?? [])];
    }
}

/**
 * Fetches and processes the due notifications of a subscription with `delivery: "POLL"`, and returns the number of
 * acknowledged notifications. If your work fails, the lease of the notification expires and the service offers the
 * notification again.
 */
function poll(Api $api, Receiver $receiver, bool $forever = false): int
{
    [$done, $ack, $refuse] = [0, [], []];
    while (true) {
        $order = ['subscription_id' => $api->subscription, 'max' => 100, 'ack' => $ack, 'refuse' => $refuse];
        $order['return_immediately'] = !$forever || $ack !== [];
        [$offered] = $api->call('partner/notifications/poll', $order);
        [$done, $ack, $refuse] = [$done + count($ack), [], []];
        if ($offered['notifications'] === [] && !$forever) {
            return $done;
        }
        foreach ($offered['notifications'] as $one) {
            [$status, $answer] = $receiver->take($one['id'], (string) $one['event_sequence'], $one['body']);
            if ($status === 200) {
                $ack[] = $one['id'];
            } elseif ($status === 400) {
                $reason = $answer['code'] === 'unknown_record' ? 'NO_MATCHING_RECORD' : 'OTHER';
                $refuse[] = ['id' => $one['id'], 'reason' => $reason, 'detail' => json_encode($answer)];
            }
        }
    }
}

/**
 * Finds the delivered notifications that the store does not have, and requests their replay. If the service's digest of
 * a time step differs from the store's, divides the step into smaller steps, until the service can list its
 * notifications on one page. A step may contain notifications that only the partner still has; this is not a fault.
 * Returns the missing ids and the number of API calls.
 */
function heal(Api $api, Store $store, string $from, string $to): array
{
    [$first, $last] = [seconds($from), seconds($to)];
    // Steps of whole hours cost the service the least, because the service stores their digests.
    $whole = [intdiv($first, HOUR) * HOUR, (int) ceil($last / HOUR) * HOUR];
    [$first, $last] = $last - $first > HOUR ? $whole : [$first, $last];
    [$before, $missing, $ranges, $kept] = [$api->calls, [], [[$first, $last]], $store->kept($first, $last)];
    $subscription = ['subscription_id' => $api->subscription];
    while ([$a, $b] = array_pop($ranges)) {
        $unit = $b - $a > HOUR ? HOUR : 1;
        $step = $unit * (int) ceil(($b - $a) / $unit / MAX_STEPS);
        $query = $subscription + ['from' => date_time($a), 'to' => date_time($b), 'step_s' => $step];
        $within = array_filter($kept, fn ($one) => $one[1] >= $a && $one[1] < $b);
        $own = array_column(steps_of($within, $a, $b, $step), 'digest', 'from');
        foreach ($api->call('partner/digest?' . http_build_query($query))[0] as $one) {
            if ($one['count'] === 0 || ($own[$one['from']] ?? '') === $one['digest']) {
                continue;
            }
            [$c, $d] = [seconds($one['from']), seconds($one['to'])];
            if ($one['count'] > PAGE && $d - $c > 1) {
                $ranges[] = [$c, $d];
                continue;
            }
            foreach (MARGINS as $margin) {
                $times = ['from' => date_time($c - $margin), 'to' => date_time($d + $margin)];
                $filters = $subscription + ['state' => 'DELIVERED', 'limit' => PAGE] + $times;
                [$ids, $page] = [[], 'partner/notifications?' . http_build_query($filters)];
                while ($page !== null) {
                    [$listed, $page] = $api->call($page);
                    $fits = fn ($item) => $item['effective_date'] >= $one['from'] && $item['effective_date'] < $one['to'];
                    array_push($ids, ...array_column(array_filter($listed, $fits), 'id'));
                }
                if (count($ids) >= $one['count']) {
                    break;
                }
            }
            $known = array_filter($within, fn ($own) => $own[1] >= $c && $own[1] < $d);
            array_push($missing, ...array_diff($ids, array_column($known, 0)));
        }
    }
    $calls = $api->calls - $before;
    // The store is read again. A notification that arrived in between is therefore not reported as missing.
    $missing = $missing === [] ? [] : array_values(array_diff($missing, array_column($store->kept($first, $last), 0)));
    foreach (array_chunk($missing, MAX_IDS) as $ids) {
        $api->call('partner/notifications/replay', ['ids' => $ids]);
    }
    return [$missing, $calls];
}
