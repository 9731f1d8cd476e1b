import { randomBytes, randomUUID } from 'node:crypto';
import { sign } from './receiver.mjs';

/** What docs/notifications.md says, word for word. */
const SAYS = {
  answer: '`200` takes the notification as delivered',
  repeat:
    '`webhook-id` is the same each time, and so are the bytes of the body: keep the ids you have worked on, and answer 200 to a repeat.',
  late: 'when what you have is newer, answer 200 and change nothing.',
  wrong: 'Answer a wrong signature with 401.',
  old: 'A timestamp more than five minutes off is a replay.',
  several: 'Accept the notification when one of them is right.',
  optional: 'the others are left out when they have no value.',
  unknown: 'Be ready for members that are new to you.',
  time: 'Answer within 10 seconds, unless another time was agreed',
};

const date = (ms) => new Date(ms).toISOString().slice(0, 19) + 'Z';

/** A notification as the service makes it; members that are undefined are left out. */
export function notification(changes = {}) {
  const at = Date.now();
  return {
    booking_code: 'CONF' + randomBytes(3).toString('hex').toUpperCase(),
    booking_on: date(at + 7 * 86_400_000),
    candidate_fname: 'Ada',
    candidate_id: 'CONFORMANCE-1',
    candidate_lname: 'Lovelace',
    candidate_mname: 'King',
    change_reason: 'BOOKING_CREATED',
    client_eligibility_id: 'CONF-1',
    delivery_mode: 'SITE_PROCTORED',
    effective_date: date(at),
    exam_code: 'CONFORMANCE',
    exam_portions: [{ portion_code: 'MAIN', portion_name: 'Main' }],
    location_address: '1 Main St, Springfield, IL',
    location_code: 'TC-042',
    location_name: 'Springfield Test Center',
    location_timezone: 'America/Chicago',
    ...changes,
  };
}

/** A signed request for a notification. */
export function request(
  content,
  secret,
  { id = randomUUID(), sequence = 1, at = Math.floor(Date.now() / 1000), signature } = {},
) {
  const body = JSON.stringify(content);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(at),
    'webhook-signature': signature === undefined ? sign(id, at, body, secret) : signature,
    'event-sequence': String(sequence),
    traceparent: `00-${id.replaceAll('-', '')}-${id.replaceAll('-', '').slice(16)}-00`,
  };
  if (signature === null) delete headers['webhook-signature'];
  return { headers, body };
}

const anotherSecret = () => 'whsec_' + randomBytes(32).toString('base64');
const OPTIONAL = [
  'candidate_mname',
  'client_eligibility_id',
  'delivery_mode',
  'exam_code',
  'exam_portions',
  'location_address',
  'location_code',
  'location_name',
  'location_timezone',
];
const REASONS = [
  'BOOKING_CREATED',
  'BOOKING_RESCHEDULED',
  'BOOKING_CANCELLED',
  'EXAM_COMPLETED',
  'ABSENT',
  'EXCUSED_ABSENT',
];

/**
 * 25 situations. Each sends what it says and answers with the statuses that came; `expects` is what all of them must be.
 * `put(request, how)` sends a request and resolves to its status; `how`: `drip` sends the body slowly, `readSlowly` takes the
 * answer slowly.
 * @returns {{ name: string, says: string, expects: number, play: () => Promise<number[]> }[]}
 */
export function situations(put, secret) {
  const one = (content, options, how) => async () => [await put(request(content, secret, options), how)];
  const accepted = (name, says, play) => ({ name, says, expects: 200, play });
  const refused = (name, says, play) => ({ name, says, expects: 401, play });
  const now = () => Math.floor(Date.now() / 1000);
  return [
    accepted(
      'the sample of a verification',
      SAYS.answer,
      one(notification({ booking_code: 'SAMPLE0001', candidate_id: 'SAMPLE' })),
    ),
    ...REASONS.map((change_reason) => accepted(change_reason, SAYS.answer, one(notification({ change_reason })))),
    accepted('a repeat: the same id and bytes', SAYS.repeat, async () => {
      const sent = request(notification(), secret);
      return [await put(sent), await put(sent), await put(sent)];
    }),
    accepted('a repeat a minute later, signed anew', SAYS.repeat, async () => {
      const content = notification();
      const id = randomUUID();
      return [await put(request(content, secret, { id, at: now() - 60 })), await put(request(content, secret, { id }))];
    }),
    accepted('five of one id at the same moment', SAYS.repeat, async () => {
      const sent = request(notification(), secret);
      return Promise.all(Array.from({ length: 5 }, () => put(sent)));
    }),
    accepted('the second event of a booking before the first', SAYS.late, async () => {
      const first = notification({ effective_date: date(Date.now() - 2_000) });
      const second = { ...first, change_reason: 'BOOKING_RESCHEDULED', effective_date: date(Date.now()) };
      return [await put(request(second, secret, { sequence: 2 })), await put(request(first, secret, { sequence: 1 }))];
    }),
    accepted('one that an operator sends again a week later', SAYS.late, async () => {
      const old = notification({ effective_date: date(Date.now() - 7 * 86_400_000) });
      const newer = { ...old, change_reason: 'BOOKING_CANCELLED', effective_date: date(Date.now()) };
      return [await put(request(newer, secret, { sequence: 3 })), await put(request(old, secret, { sequence: 1 }))];
    }),
    accepted(
      'a gap in the sequence of a booking',
      'Numbers may be missing, when you did not ask for every kind of event.',
      one(notification(), { sequence: 7 }),
    ),
    accepted(
      'no optional member',
      SAYS.optional,
      one(notification(Object.fromEntries(OPTIONAL.map((name) => [name, undefined])))),
    ),
    accepted(
      'members that are new',
      SAYS.unknown,
      one(notification({ seat: 12, extras: { quiet: true, list: [1, null] } })),
    ),
    accepted(
      'names in every script',
      SAYS.answer,
      one(notification({ candidate_fname: 'Zoë-Łucja 李', candidate_lname: '👩‍🔬 O’Brien "Jr." \\' })),
    ),
    accepted(
      'a large body: 100 KiB',
      SAYS.answer,
      one(
        notification({
          exam_portions: Array.from({ length: 1500 }, (_, at) => ({
            portion_code: `P-${at}`,
            portion_name: `Portion ${at} `.repeat(3),
          })),
        }),
      ),
    ),
    accepted('a body that arrives slowly', SAYS.time, one(notification(), {}, 'drip')),
    accepted('an answer that is read slowly', SAYS.time, one(notification(), {}, 'readSlowly')),
    accepted('twenty bookings at the same moment', SAYS.time, () =>
      Promise.all(Array.from({ length: 20 }, () => put(request(notification(), secret)))),
    ),
    accepted('two signatures after a change of the secret', SAYS.several, async () => {
      const id = randomUUID();
      const at = now();
      const content = notification();
      const signature = sign(id, at, JSON.stringify(content), anotherSecret(), secret);
      return [await put(request(content, secret, { id, at, signature }))];
    }),
    refused('a signature by another secret', SAYS.wrong, async () => [
      await put(request(notification(), anotherSecret())),
    ]),
    refused('no signature at all', SAYS.wrong, one(notification(), { signature: null })),
    refused('a body that was changed on its way', SAYS.wrong, async () => {
      const { headers, body } = request(notification(), secret);
      return [await put({ headers, body: body.replace('CONFORMANCE-1', 'CONFORMANCE-2') })];
    }),
    refused('a signature of ten minutes ago', SAYS.old, async () => [
      await put(request(notification(), secret, { at: now() - 600 })),
    ]),
  ];
}
