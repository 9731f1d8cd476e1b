import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { Polling } from '../support/polling';
import { Subscribed } from '../support/subscribed';

const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');
const FLIPS = 30;
const BOOKINGS = 8;

/** Changes a subscription from PUSH to POLL and back many times, while two processes deliver its notifications. */
describe('a subscription that changes between PUSH and POLL under traffic', () => {
  let first: TestApp;
  let second: TestApp;
  let subscribed: Subscribed;
  let polling: Polling;

  beforeAll(async () => {
    first = await startApp({ env: { SECRETS_KEY } });
    second = await startApp({ databaseUrl: first.databaseUrl, env: { SECRETS_KEY } });
    subscribed = await Subscribed.start(first);
    polling = await Polling.of(subscribed);
  });
  afterAll(async () => {
    await subscribed.stop();
    await second.close();
    await first.close();
  });

  it('a subscription that changes between PUSH and POLL gets each notification once, in the order of its booking', async () => {
    /**
     * The attempts. An attempt begins when the partner receives the notification, in a PUT request or in the response
     * to a poll. The attempt ends when the partner acknowledges the notification.
     */
    const attempts: { id: string; code: string; sequence: number; from: number; to: number; way: string }[] = [];
    subscribed.partner.answer(async (request) => {
      const attempt = {
        id: request.headers['webhook-id'],
        code: request.json.booking_code as string,
        sequence: Number(request.headers['event-sequence']),
        from: performance.now(),
        to: Infinity,
        way: 'PUSH',
      };
      attempts.push(attempt);
      await new Promise((resolve) => setTimeout(resolve, 5));
      attempt.to = performance.now();
      return { status: 200 };
    });
    const codes = await Promise.all(Array.from({ length: BOOKINGS }, () => subscribed.booking()));
    let isOver = false;
    const poll = async (app: TestApp): Promise<void> => {
      let ack: string[] = [];
      while (!isOver || ack.length > 0) {
        // An attempt ends as soon as the partner sends the acknowledgement, because the service records the
        // acknowledgement before it answers the partner.
        for (const attempt of attempts) if (ack.includes(attempt.id)) attempt.to = performance.now();
        const answer = await app.call('POST', '/partner/notifications/poll', {
          token: polling.token,
          body: { ack, return_immediately: true, max: 3 },
        });
        if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
        // The service must recognise all acknowledged notifications, because the previous poll returned them.
        expect(answer.body.unknown).toEqual([]);
        ack = answer.body.notifications.map(({ id }: { id: string }) => id);
        for (const one of answer.body.notifications)
          attempts.push({
            id: one.id,
            code: JSON.parse(one.body).booking_code,
            sequence: one.event_sequence,
            from: performance.now(),
            to: Infinity,
            way: 'POLL',
          });
        if (ack.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    const moving = Promise.all(
      codes.map(async (code) => {
        while (!isOver) await subscribed.reschedule(code);
      }),
    );
    const polls = Promise.all([poll(first), poll(second)]);
    for (let flip = 0; flip < FLIPS; flip++) {
      const way = flip % 2 === 0 ? 'POLL' : 'PUSH';
      const app = flip % 3 === 0 ? second : first;
      const path = `/admin/subscriptions/${subscribed.id}`;
      const answer = await app.call('PATCH', path, { token: subscribed.operator, body: { delivery: way } });
      expect(answer.body).toMatchObject({ delivery: way, state: 'ACTIVE', health: 'UP' });
      // Before the next change, the test waits until a notification has been delivered in the current mode of the
      // subscription.
      const before = attempts.length;
      await eventually(() => expect(attempts.slice(before).some((attempt) => attempt.way === way)).toBe(true));
    }
    isOver = true;
    await moving;
    await polls;
    await polling.turn('PUSH');
    await eventually(async () =>
      expect(await first.given.sql('SELECT FROM deliveries WHERE subscription_id = $1', [subscribed.id])).toEqual([]),
    );
    const rows = await first.given.sql('SELECT id, state FROM notifications WHERE subscription_id = $1', [
      subscribed.id,
    ]);
    expect(rows.filter(({ state }) => state !== 'DELIVERED')).toEqual([]);
    expect(attempts.map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id as string).sort());
    for (const code of codes) {
      const own = attempts.filter((attempt) => attempt.code === code).sort((a, b) => a.from - b.from);
      expect(own.map(({ sequence }) => sequence)).toEqual(own.map((_, index) => index + 1));
      // Each attempt of a booking must begin after the previous attempt of the same booking has ended.
      expect(own.filter(({ from }, index) => index > 0 && from < own[index - 1].to)).toEqual([]);
    }
    expect(new Set(attempts.map(({ way }) => way))).toEqual(new Set(['PUSH', 'POLL']));
  }, 120_000);
});
