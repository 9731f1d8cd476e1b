import type { ChangeReason } from '../notification-request.js';
import type { Situation } from './scene.js';

const MEANING = 'marks the notification as delivered';
const REPEAT = 'keep the ids that you have processed, and answer 200 to a repetition.';

/** Builds a situation in which the notifications about the given events of one booking are sent in order. */
const life = (title: string, ...reasons: ChangeReason[]): Situation => ({
  title,
  sentence: MEANING,
  async play(scene) {
    const booking = scene.booking();
    for (const reason of reasons) await scene.taken(booking.next(reason));
  },
});

/** Situations that check how the partner handles duplicate and reordered notifications. */
export const ordering: readonly Situation[] = [
  life('BOOKING_CREATED', 'BOOKING_CREATED'),
  life('BOOKING_RESCHEDULED', 'BOOKING_CREATED', 'BOOKING_RESCHEDULED'),
  life('BOOKING_CANCELLED', 'BOOKING_CREATED', 'BOOKING_CANCELLED'),
  life('EXAM_COMPLETED', 'BOOKING_CREATED', 'EXAM_COMPLETED'),
  life('ABSENT', 'BOOKING_CREATED', 'ABSENT'),
  life('EXCUSED_ABSENT', 'BOOKING_CREATED', 'EXCUSED_ABSENT'),
  {
    title: 'a repeat: the same id and bytes with a new signature',
    sentence: REPEAT,
    async play(scene) {
      const created = scene.booking().next('BOOKING_CREATED');
      const now = Math.floor(Date.now() / 1000);
      await scene.taken(created, { timestampS: now - 30 });
      await scene.taken(created, { timestampS: now });
    },
  },
  {
    title: 'a repeat that arrives while the first request is still being processed',
    sentence: REPEAT,
    async play(scene) {
      const created = scene.booking().next('BOOKING_CREATED');
      await Promise.all(Array.from({ length: 5 }, () => scene.taken(created)));
    },
  },
  {
    title: 'an earlier notification that arrives after a later one, because it was refused at first',
    sentence: 'if your data is newer, answer 200 and change nothing.',
    async play(scene) {
      const booking = scene.booking();
      const late = booking.next('BOOKING_CREATED');
      await scene.taken(booking.next('BOOKING_RESCHEDULED'));
      await scene.taken(late);
    },
  },
  {
    title: 'a late resend for a closed booking',
    sentence: 'a notification that an operator resends arrives late',
    async play(scene) {
      const booking = scene.booking();
      await scene.taken(booking.next('BOOKING_CREATED'));
      const late = booking.next('BOOKING_RESCHEDULED');
      await scene.taken(booking.next('EXAM_COMPLETED'));
      await scene.taken(late);
    },
  },
  {
    title: 'a replay of all notifications of a booking',
    sentence: 'An operator may replay notifications that you have already accepted',
    async play(scene) {
      const booking = scene.booking();
      const all = [booking.next('BOOKING_CREATED'), booking.next('BOOKING_RESCHEDULED'), booking.next('ABSENT')];
      for (const prepared of [...all, ...all]) await scene.taken(prepared);
    },
  },
  {
    title: 'missing sequence numbers',
    sentence: 'Numbers are missing if you did not subscribe to every kind of event.',
    async play(scene) {
      const booking = scene.booking();
      booking.skip(2);
      await scene.taken(booking.next('BOOKING_RESCHEDULED'));
      booking.skip(3);
      await scene.taken(booking.next('EXAM_COMPLETED'));
    },
  },
];
