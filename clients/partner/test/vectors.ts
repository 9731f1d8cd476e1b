import { createHash } from 'node:crypto';
import { sampleNotificationRequest } from '../../../src/notifications/notification-request';
import { signingKey, webhookSignature } from '../../../src/notifications/partner/signature';

const NOW_S = 1_795_188_954;
const ID = '0198f2c1-5f0e-7c31-9a55-2f6f0f6f2f11';
const CURRENT = `whsec_${Buffer.alloc(32, 'current secret ').toString('base64')}`;
const PREVIOUS = `whsec_${Buffer.alloc(32, 'previous secret ').toString('base64')}`;
const FOREIGN = `whsec_${Buffer.alloc(32, 'foreign secret ').toString('base64')}`;
const SAMPLE = sampleNotificationRequest(new Date(NOW_S * 1000));

interface Setup {
  title: string;
  /** The secrets with which the partner verifies the request. */
  secrets?: string[];
  signedBy?: string[];
  body?: string;
  timestampS?: number;
  /** Headers that replace the service's headers; the value null removes a header. */
  headers?: Record<string, string | null>;
  received?: string;
  fault?: string;
}

/** Builds one request to a partner, signed by the service's own code. */
function vector(setup: Setup) {
  const { title, secrets = [CURRENT], signedBy = [CURRENT], body = JSON.stringify(SAMPLE), timestampS = NOW_S } = setup;
  const headers: Record<string, string | null> = {
    'webhook-id': ID,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': webhookSignature(signedBy.map(signingKey), ID, timestampS, body),
    ...setup.headers,
  };
  return {
    title,
    secrets,
    now: NOW_S,
    headers: Object.fromEntries(
      Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null),
    ),
    body: setup.received ?? body,
    genuine: setup.fault === undefined,
    ...(setup.fault === undefined ? {} : { fault: setup.fault }),
  };
}

const wrong = (setup: Setup) => vector({ fault: 'signature_wrong', ...setup });
/** A notification that a partner receives: its id, its booking, its event-sequence, and optionally its record. */
type Arrival = [id: string, booking: string, sequence: number, record?: string, second?: number];

/**
 * Builds a case for the `ordering` section of vectors.json. The partner's `work` function is called only for the
 * outcome `applied`. `newest` is the value of `isNewestOfRecord` in this call.
 */
const sequences = (title: string, arrivals: Arrival[], outcomes: string[], newest?: boolean[]) => ({
  title,
  received: arrivals.map(([id, booking_code, event_sequence, record = booking_code, second = event_sequence]) => ({
    id,
    booking_code,
    event_sequence,
    record,
    effective_date: dateTime(second),
  })),
  outcomes,
  newest: newest ?? outcomes.map((outcome) => outcome === 'applied'),
});

/** Returns the time that is the given number of seconds after the beginning of the test case. */
const dateTime = (second: number) => `${new Date((NOW_S + second) * 1000).toISOString().slice(0, 19)}Z`;

/** Returns a notification as a partner stores it; `second` sets the effective date in its body. */
const keptAt = (number: number, second: number, changes: object = {}) => ({
  id: `0198f2c1-5f0e-7c31-9a55-${String(number).padStart(12, '0')}`,
  event_sequence: number,
  body: JSON.stringify({ ...SAMPLE, effective_date: dateTime(second), ...changes }),
});

/** Returns a change to a record as a partner stores it; `second` sets the time of the change (`at`). */
const changeAt = (number: number, second: number) => ({
  ...keptAt(number, second),
  body: JSON.stringify({
    id: `change-${number}`,
    kind: 'eligibility',
    change: 'HELD',
    at: dateTime(second),
    svc_eligiblity_id: 'A2B3C4D5',
    candidate_id: SAMPLE.candidate_id,
    test_code: 'SAMPLE-TEST',
    booking_code: null,
    status: 'PENDING',
    revision: null,
    notification: null,
    event_sequence: null,
  }),
});

type Kept = ReturnType<typeof keptAt>;

/**
 * Builds a case for the `digests` section of vectors.json: the notifications that a partner has stored, and the digest
 * of each time step.
 */
const digests = (title: string, stepS: number, seconds: number, kept: [second: number, kept: Kept][]) => ({
  title,
  from: dateTime(0),
  to: dateTime(seconds),
  step_s: stepS,
  kept: kept.map(([, notification]) => notification),
  steps: Array.from({ length: Math.ceil(seconds / stepS) }, (_value, index) => {
    const [from, to] = [index * stepS, Math.min((index + 1) * stepS, seconds)];
    const within = kept.filter(([second]) => second >= from && second < to).map(([, notification]) => notification);
    return { from: dateTime(from), to: dateTime(to), count: within.length, digest: xorOf(within) };
  }),
});

function xorOf(kept: readonly Kept[]): string {
  const sum = Buffer.alloc(32);
  for (const { id, event_sequence, body } of kept) {
    const hash = createHash('sha256').update(`${id}\n${event_sequence}\n${body}`).digest();
    for (const [index, byte] of hash.entries()) sum[index] ^= byte;
  }
  return sum.toString('hex');
}

/** Returns the contents of clients/partner/vectors.json. */
export function vectors() {
  return {
    about:
      '`sha256` is the hash of all bytes before its line. Bodies are the text whose UTF-8 bytes came. Each is judged at `now` (seconds since 1970) with a tolerance of 300 seconds. ' +
      '`ordering` says what becomes of genuine notifications, received one after the other by a partner that knows nothing yet. ' +
      '`newest` says whether the event is the latest of its record, by `effective_date`. ' +
      '`digests` has notifications that a partner kept, and the digest of each step of time.',
    signatures: [
      vector({ title: 'the sample' }),
      vector({
        title: 'characters beyond ASCII',
        body: JSON.stringify({ ...SAMPLE, candidate_fname: 'Zoë “Z” 王 👩‍🎓' }),
      }),
      vector({ title: 'white space that is signed like everything else', body: JSON.stringify(SAMPLE, null, 2) }),
      vector({ title: 'both signatures, of a partner that has the new secret', signedBy: [CURRENT, PREVIOUS] }),
      vector({
        title: 'both signatures, of a partner that has the old secret',
        signedBy: [CURRENT, PREVIOUS],
        secrets: [PREVIOUS],
      }),
      vector({ title: 'a partner that has both', signedBy: [PREVIOUS], secrets: [CURRENT, PREVIOUS] }),
      vector({ title: 'five minutes ago', timestampS: NOW_S - 300 }),
      vector({ title: 'more than five minutes ago', timestampS: NOW_S - 301, fault: 'timestamp_too_far' }),
      vector({ title: 'more than five minutes ahead', timestampS: NOW_S + 301, fault: 'timestamp_too_far' }),
      wrong({ title: 'another secret', signedBy: [FOREIGN] }),
      wrong({ title: 'the old secret alone, after the change is over', signedBy: [PREVIOUS] }),
      wrong({ title: 'another body', received: JSON.stringify({ ...SAMPLE, candidate_id: 'OTHER' }) }),
      wrong({ title: 'the same JSON in other bytes', received: JSON.stringify(SAMPLE, null, 1) }),
      wrong({ title: 'another id', headers: { 'webhook-id': '0198f2c1-5f0e-7c31-9a55-2f6f0f6f2f12' } }),
      wrong({ title: 'another timestamp', headers: { 'webhook-timestamp': String(NOW_S + 1) } }),
      wrong({ title: 'an empty signature', headers: { 'webhook-signature': 'v1,' } }),
      wrong({ title: 'another version', headers: { 'webhook-signature': 'v2,bm9uZQ==' } }),
      wrong({ title: 'no base64', headers: { 'webhook-signature': 'v1,%%%' } }),
      vector({ title: 'no signature', headers: { 'webhook-signature': null }, fault: 'header_missing' }),
      vector({ title: 'no id', headers: { 'webhook-id': null }, fault: 'header_missing' }),
      vector({ title: 'no timestamp', headers: { 'webhook-timestamp': null }, fault: 'header_missing' }),
      vector({ title: 'no number', headers: { 'webhook-timestamp': 'now' }, fault: 'timestamp_invalid' }),
    ],
    ordering: [
      sequences(
        'in order',
        [
          ['a', 'B1', 1],
          ['b', 'B1', 2],
        ],
        ['applied', 'applied'],
      ),
      sequences(
        'a repeat',
        [
          ['a', 'B1', 1],
          ['a', 'B1', 1],
        ],
        ['applied', 'repeat'],
      ),
      sequences(
        'late',
        [
          ['b', 'B1', 2],
          ['a', 'B1', 1],
          ['a', 'B1', 1],
        ],
        ['applied', 'late', 'repeat'],
      ),
      sequences(
        'numbers that are missing',
        [
          ['a', 'B1', 3],
          ['b', 'B1', 7],
        ],
        ['applied', 'applied'],
      ),
      sequences(
        'bookings for themselves',
        [
          ['a', 'B1', 2],
          ['b', 'B2', 1],
        ],
        ['applied', 'applied'],
      ),
      sequences(
        'one event by two subscriptions',
        [
          ['a', 'B1', 1],
          ['b', 'B1', 1],
        ],
        ['applied', 'late'],
      ),
      sequences(
        'two bookings of one record, whose events arrive in the wrong order',
        [
          ['a', 'B1', 1, 'R1', 1],
          ['b', 'B2', 1, 'R1', 3],
          ['c', 'B1', 2, 'R1', 2],
          ['d', 'B2', 2, 'R1', 4],
        ],
        ['applied', 'applied', 'applied', 'applied'],
        [true, true, false, true],
      ),
      sequences(
        'two bookings of two records',
        [
          ['a', 'B1', 1, 'R1', 5],
          ['b', 'B2', 1, 'R2', 1],
        ],
        ['applied', 'applied'],
      ),
    ],
    digests: [
      digests('no notification', 3600, 7200, []),
      digests('one notification', 3600, 3600, [[0, keptAt(1, 0)]]),
      digests('the last second of a step, and the first second of the next one', 60, 180, [
        [59, keptAt(1, 59)],
        [60, keptAt(2, 60)],
      ]),
      digests('several notifications in one step, and a last step that is shorter', 3600, 5400, [
        [10, keptAt(1, 10)],
        [3599, keptAt(12, 3599, { candidate_fname: 'Zoë “Z” 王 👩‍🎓' })],
        [3600, keptAt(123, 3600)],
        [5399, keptAt(2, 5399)],
      ]),
      digests('a notification and a change of a record', 60, 120, [
        [10, keptAt(1, 10)],
        [70, changeAt(2, 70)],
      ]),
    ],
  };
}

/** Returns the text of vectors.json: the vectors, followed by a hash of all bytes before the line with the hash. */
export function vectorsText(): string {
  const before = `${JSON.stringify(vectors(), null, 2).slice(0, -'\n}'.length)},\n`;
  return `${before}  "sha256": "${createHash('sha256').update(before).digest('hex')}"\n}\n`;
}
