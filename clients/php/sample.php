<?php
/**
 * A sample partner. Run it as it is, then replace `work` with your own function. In a web server (or under `php -S`),
 * this file answers `PUT …/notifications` itself.
 */

declare(strict_types=1);

namespace CandidateEligibility\Partner;

require __DIR__ . '/partner.php';

const USAGE = <<<'TEXT'
    usage: php sample.php serve            receives notifications at https://localhost:PORT
           php sample.php poll             fetches and acknowledges the notifications that are due
           php sample.php heal FROM TO     finds missing notifications between two times, and orders them again
           php sample.php vectors FILE     checks the kit against vectors.json

    Settings of the environment: STORE (a folder), WEBHOOK_SECRET, PORT, TLS_CERT, TLS_KEY for serve;
    STORE, BASE_URL, CONSUMER_KEY, CONSUMER_SECRET, SUBSCRIPTION_ID for poll and heal.

    TEXT;
const MAX_BODY = 256 * 1024;

/** Processes a notification. Write to your own database here. */
function work(array $notification, bool $isNewestOfRecord): void
{
    $isChange = isset($notification['svc_eligiblity_id']); // Only a subscription with `record_changes` receives these.
    $names = $isChange ? ['change', 'svc_eligiblity_id'] : ['change_reason', 'booking_code'];
    fwrite(STDOUT, "{$notification[$names[0]]} {$notification[$names[1]]}\n");
}

function setting(string $name): string
{
    return getenv($name) ?: throw new \RuntimeException("$name is missing.\n" . USAGE);
}

/** Runs a server that handles each connection in its own process. The server uses TLS if a certificate is given. */
function serve(Receiver $receiver): void
{
    $tls = array_filter(['local_cert' => getenv('TLS_CERT'), 'local_pk' => getenv('TLS_KEY')]);
    $context = stream_context_create(['ssl' => $tls, 'socket' => ['backlog' => 128]]);
    $flags = STREAM_SERVER_BIND | STREAM_SERVER_LISTEN;
    $server = stream_socket_server('tcp://0.0.0.0:' . setting('PORT'), $code, $text, $flags, $context);
    if ($server === false) {
        throw new \RuntimeException($text);
    }
    fwrite(STDOUT, "ready\n");
    $mayFork = function_exists('pcntl_fork');
    if ($mayFork) {
        pcntl_signal(SIGCHLD, SIG_IGN);
    }
    while (true) {
        $connection = @stream_socket_accept($server, -1);
        if ($connection === false || ($mayFork && pcntl_fork() !== 0)) {
            continue;
        }
        stream_set_timeout($connection, 30);
        if ($tls === [] || @stream_socket_enable_crypto($connection, true, STREAM_CRYPTO_METHOD_TLS_SERVER)) {
            while (answer($connection, $receiver, $mayFork)) {
                // `answer` has handled one request, and the connection stays open for the next request.
            }
        }
        fclose($connection);
        if ($mayFork) {
            exit(0);
        }
    }
}

/** Reads a request and answers it. Returns whether the connection may be used for another request. */
function answer(mixed $connection, Receiver $receiver, bool $mayKeep): bool
{
    [$method, $path] = explode(' ', (string) fgets($connection, 8192)) + ['', ''];
    $headers = [];
    while (($line = rtrim((string) fgets($connection, 65536), "\r\n")) !== '') {
        [$name, $value] = explode(':', $line, 2) + ['', ''];
        // A repeated header is treated as missing.
        $headers[strtolower($name)] = isset($headers[strtolower($name)]) ? '' : trim($value);
    }
    if ($method === '') {
        return false;
    }
    $length = $headers['content-length'] ?? '';
    [$status, $answer] = match (true) {
        $method !== 'PUT' => [405, ['code' => 'method_not_allowed']],
        !preg_match('~/(notifications|changes)$~D', $path) => [404, ['code' => 'not_found']],
        !ctype_digit($length) => [411, ['code' => 'length_required']],
        (int) $length > MAX_BODY => [413, ['code' => 'payload_too_large']],
        default => $receiver->receive($headers, (string) stream_get_contents($connection, (int) $length)),
    };
    $mayKeep = $mayKeep && !in_array($status, [404, 405, 411, 413], true);
    $text = json_encode($answer);
    $head = "HTTP/1.1 $status\r\nContent-Type: application/json\r\nContent-Length: " . strlen($text) . "\r\n";
    $head .= ($status === 405 ? "Allow: PUT\r\n" : '') . ($mayKeep ? '' : "Connection: close\r\n");
    return fwrite($connection, "$head\r\n$text") !== false && $mayKeep;
}

/** Returns a sentence about the fault if the hash in the vectors file does not match the bytes of the file. */
function faults_of_bytes(string $file): array
{
    $name = '  "sha256": "';
    $before = substr($file, 0, (int) strrpos($file, $name));
    $right = $name . hash('sha256', $before) . "\"\n}\n";
    return substr($file, strlen($before)) === $right
        ? []
        : ['WRONG vectors.json: its bytes do not have the hash in `sha256`'];
}

/** Returns a sentence for each test vector for which the kit's result differs from the expected result. */
function faults_of(array $vectors): array
{
    $faults = [];
    $expect = function (string $title, mixed $found, mixed $right) use (&$faults) {
        if ($found !== $right) {
            $faults[] = "WRONG $title: " . json_encode($found) . ' instead of ' . json_encode($right);
        }
    };
    foreach ($vectors['signatures'] as $case) {
        $verdict = 'genuine';
        try {
            verify($case['headers'], $case['body'], $case['secrets'], 300, $case['now']);
        } catch (InvalidSignature $fault) {
            $verdict = $fault->getMessage();
        }
        $expect($case['title'], $verdict, $case['fault'] ?? 'genuine');
    }
    foreach ($vectors['ordering'] as $case) {
        $folder = sys_get_temp_dir() . '/partner-vectors-' . bin2hex(random_bytes(8));
        [$store, $outcomes, $newest] = [new Store($folder), [], []];
        foreach ($case['received'] as $index => $one) {
            $newest[$index] = false;
            $place = [$one['booking_code'], $one['record'], seconds($one['effective_date'])];
            $work = function (bool $isNewest) use (&$newest, $index) {
                $newest[$index] = $isNewest;
            };
            $outcomes[] = $store->once($one['id'], $one['event_sequence'], $place, '', $work);
        }
        $expect($case['title'], [$outcomes, $newest], [$case['outcomes'], $case['newest']]);
        array_map('unlink', glob("$folder/*/*"));
        array_map('rmdir', ["$folder/bookings", "$folder/records", $folder]);
    }
    foreach ($vectors['digests'] as $case) {
        $kept = array_map(fn ($one) => [
            $one['id'],
            place_of(parse((string) $one['event_sequence'], $one['body']))[2],
            digest_of($one['id'], $one['event_sequence'], $one['body']),
        ], $case['kept']);
        $found = steps_of($kept, seconds($case['from']), seconds($case['to']), $case['step_s']);
        $expect($case['title'], $found, $case['steps']);
    }
    return $faults;
}

function main(array $arguments): int
{
    [, $command, $first, $second] = $arguments + ['', '', '', ''];
    if ($command === 'vectors') {
        $file = file_get_contents($first);
        $vectors = json_decode($file, true);
        $faults = [...faults_of_bytes($file), ...($vectors === null ? [] : faults_of($vectors))];
        echo implode("\n", $faults ?: ['The vectors are right.']), "\n";
        return $faults === [] ? 0 : 1;
    }
    if (!in_array($command, ['serve', 'poll', 'heal'], true)) {
        fwrite(STDERR, USAGE);
        return 2;
    }
    $store = new Store(setting('STORE'));
    if ($command === 'serve') {
        serve(new Receiver($store, work(...), explode(' ', setting('WEBHOOK_SECRET'))));
    }
    $api = new Api(...array_map(setting(...), ['BASE_URL', 'CONSUMER_KEY', 'CONSUMER_SECRET', 'SUBSCRIPTION_ID']));
    if ($command === 'poll') {
        echo poll($api, new Receiver($store, work(...))), " acknowledged\n";
    } else {
        [$missing, $calls] = heal($api, $store, $first, $second);
        echo count($missing), " missing, found in $calls calls\n";
    }
    return 0;
}

if (PHP_SAPI === 'cli') {
    exit(main($argv));
}
if ($_SERVER['REQUEST_METHOD'] !== 'PUT') {
    header('Allow: PUT', true, 405);
    exit();
}
$receiver = new Receiver(new Store(setting('STORE')), fn ($notification) => null, explode(' ', setting('WEBHOOK_SECRET')));
[$status, $answer] = $receiver->receive(
    array_change_key_case(getallheaders()),
    (string) file_get_contents('php://input', false, null, 0, MAX_BODY + 1),
);
http_response_code($status);
header('Content-Type: application/json');
echo json_encode($answer);
