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
const sequences = (title: string, received: [id: string, booking: string, sequence: number][], outcomes: string[]) => ({
  title,
  received: received.map(([id, booking_code, event_sequence]) => ({ id, booking_code, event_sequence })),
  outcomes,
});

/** Returns the contents of clients/partner/vectors.json. */
export function vectors() {
  return {
    about:
      'Bodies are the text whose UTF-8 bytes came. Each is judged at `now` (seconds since 1970) with a tolerance of 300 seconds. ' +
      '`ordering` says what becomes of genuine notifications, received one after the other by a partner that knows nothing yet.',
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
    ],
  };
}
