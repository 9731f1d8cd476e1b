import { Fault, type Prepared, type Situation } from './scene.js';

const NEW_MEMBERS = 'Ignore members that you do not know.';
const IN_TIME = 'Answer within 10 seconds';
const MALFORMED = 'Answer 400 or 415, never 500, to an invalid request';
const PARALLEL = 16;

/**
 * Situations that check whether the partner accepts all valid requests, refuses malformed requests, and responds in
 * time.
 */
export const answering: readonly Situation[] = [
  {
    title: 'unknown members',
    sentence: NEW_MEMBERS,
    async play(scene) {
      await scene.taken(
        scene.booking().next('BOOKING_CREATED', {
          seat_number: 7,
          proctor: { name: null, languages: ['en', 'fr'] },
          exam_portions: [{ portion_code: 'MAIN', portion_name: 'Main', weight: 0.5 }],
        }),
      );
    },
  },
  {
    title: 'omitted members',
    sentence: 'The other members are left out when they have no value.',
    async play(scene) {
      const without = Object.fromEntries(
        ['client_eligibility_id', 'delivery_mode', 'exam_portions', 'location_timezone', ...SITE].map((name) => [
          name,
          undefined,
        ]),
      );
      await scene.taken(scene.booking().next('BOOKING_CREATED', without));
    },
  },
  {
    title: 'a remote exam, which has no site',
    sentence: 'of the test centre, or for a remote exam the time zone that the candidate chose',
    async play(scene) {
      const without = Object.fromEntries(SITE.map((name) => [name, undefined]));
      await scene.taken(
        scene.booking().next('BOOKING_CREATED', {
          ...without,
          delivery_mode: 'SVC_REMOTE_PROCTORED',
          location_timezone: 'Asia/Kolkata',
        }),
      );
    },
  },
  {
    title: 'a large body',
    sentence: 'Accept bodies of up to 64 KiB.',
    async play(scene) {
      const portion = { portion_code: 'P'.repeat(50), portion_name: 'ü'.repeat(200) };
      const portions = Array.from({ length: 120 }, () => portion);
      await scene.taken(scene.booking().next('BOOKING_CREATED', { exam_portions: portions }));
    },
  },
  {
    title: `${PARALLEL} bookings at the same moment`,
    sentence: IN_TIME,
    async play(scene) {
      await Promise.all(Array.from({ length: PARALLEL }, () => scene.taken(scene.booking().next('BOOKING_CREATED'))));
    },
  },
  {
    title: 'a body that arrives slowly, in small chunks',
    sentence: IN_TIME,
    async play(scene) {
      await scene.taken(scene.booking().next('BOOKING_CREATED'), { slowly: 'sent' });
    },
  },
  {
    title: 'an answer that is read slowly',
    sentence: IN_TIME,
    async play(scene) {
      await scene.taken(scene.booking().next('BOOKING_CREATED'), { slowly: 'read' });
    },
  },
  {
    title: 'an unknown candidate',
    sentence: 'assumes that you do not know the candidate or exam, and leaves the notification to an operator',
    async play(scene) {
      const unknown = { candidate_id: `UNKNOWN-${Date.now()}`, client_eligibility_id: undefined };
      const { status } = await scene.send(scene.booking().next('BOOKING_CREATED', unknown));
      if (status !== 200 && status !== 400)
        throw new Fault(`it was answered ${status} instead of 400 (or 200, if you accept everybody)`);
    },
  },
  {
    title: 'a correctly signed body that is not a notification',
    sentence: MALFORMED,
    async play(scene) {
      const created = scene.booking().next('BOOKING_CREATED');
      for (const body of ['{"booking_code":', '[]', 'null', '{}', ''])
        await scene.refused(withBody(created, body), [400, 415, 422], {});
    },
  },
  {
    title: 'the wrong content type',
    sentence: MALFORMED,
    async play(scene) {
      await scene.refused(scene.booking().next('BOOKING_CREATED'), [400, 415], {
        headers: { 'content-type': 'text/plain' },
      });
    },
  },
  {
    title: 'a response without compression',
    sentence: 'Do not compress your answer.',
    async play(scene) {
      const { headers } = await scene.taken(scene.booking().next('BOOKING_CREATED'));
      const coding = headers['content-encoding'];
      if (coding !== undefined && coding !== 'identity') throw new Fault(`the answer has the content coding ${coding}`);
    },
  },
];

const SITE = ['location_address', 'location_code', 'location_name'];

function withBody(prepared: Prepared, body: string): Prepared {
  return { ...prepared, body: Buffer.from(body) };
}
