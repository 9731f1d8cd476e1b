import { setTimeout as pause } from 'node:timers/promises';
import { startPair, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { startPartner, type Partner, type PartnerRequest } from '../support/partner';
import { holdAt } from '../support/races';
import { Subscribed } from '../support/subscribed';

/**
 * The length of a pause, in milliseconds. The pause is long enough for a sweep of the delivery loop and for several
 * probes after the sweep.
 */
const A_WHILE_MS = 1500;

let first: TestApp;
let second: TestApp;
let subscribed: Subscribed;
let next: Partner;

beforeAll(async () => {
  ({ api: first, delivery: second } = await startPair({ RETRY_SCHEDULE_S: '0.3' }));
});
beforeEach(async () => {
  [subscribed, next] = await Promise.all([Subscribed.start(first), startPartner()]);
});
afterEach(() => Promise.all([subscribed.stop(), next.stop()]));
afterAll(async () => {
  await second.close();
  await first.close();
});

async function move(to: Partner = next, changes: Record<string, unknown> = {}): Promise<void> {
  const moved = await subscribed.patch({ partner_url: to.url, ...changes });
  expect([moved.status, moved.body.state, moved.body.health]).toEqual([200, 'UNVERIFIED', 'UP']);
}

async function verify(): Promise<void> {
  const verified = await subscribed.post('verify');
  expect([verified.status, verified.body.state]).toEqual([200, 'ACTIVE']);
}

const codesOf = (requests: readonly PartnerRequest[]) =>
  requests.map(({ json }) => json.booking_code as string).filter((code) => !code.startsWith('SAMPLE'));
const states = async () => (await subscribed.notifications()).map(({ state, retry }) => [state, retry]);
/** Waits until the subscription has the given number of notifications. */
const isMade = (count: number) => eventually(async () => expect(await states()).toHaveLength(count));

test('events that occur before a new partner_url is verified are sent to the new address after its verification', async () => {
  const before = await subscribed.booking();
  await subscribed.partner.received(1);
  await move();
  const meanwhile = [await subscribed.booking(), await subscribed.booking()];
  await subscribed.reschedule(before);
  await isMade(4);
  await pause(A_WHILE_MS);
  expect(codesOf(next.requests)).toEqual([]);
  await verify();
  await next.received(4);
  expect(codesOf(next.requests).sort()).toEqual([...meanwhile, before].sort());
  expect(codesOf(subscribed.partner.requests)).toEqual([before]);
  await eventually(async () => expect((await states()).map(([state]) => state)).toEqual(Array(4).fill('DELIVERED')));
});

test('creates no notifications for a subscription that was never verified, however often its address changes', async () => {
  const { body: made } = await subscribed.admin('POST', 'subscriptions', {
    account_code: subscribed.scene.account,
    partner_url: `${next.url}/a`,
    ca_pem: next.caPem,
  });
  const moved = await subscribed.admin('PATCH', `subscriptions/${made.id}`, { partner_url: `${next.url}/b` });
  expect([moved.status, moved.body.state]).toEqual([200, 'UNVERIFIED']);
  await subscribed.booking();
  await subscribed.partner.received(1);
  expect((await subscribed.admin('POST', `subscriptions/${made.id}/verify`)).body.state).toBe('ACTIVE');
  const after = await subscribed.booking();
  await next.received(2);
  expect(codesOf(next.requests)).toEqual([after]);
});

test('after the response to a PATCH of partner_url, no process sends to the old address, and claimed notifications are released', async () => {
  await subscribed.booking();
  await subscribed.partner.received(1);
  // Waits until the delivery loop has searched for further notifications and found none, so that no claim is running.
  await pause(A_WHILE_MS);
  const hold = holdAt(second, 'claimed');
  const held = await subscribed.booking();
  await hold.reached;
  let answered = false;
  const moved = move().then(() => (answered = true));
  await pause(700);
  const answeredAtOnce = answered;
  hold.release();
  expect(answeredAtOnce).toBe(false);
  await moved;
  await pause(A_WHILE_MS);
  expect(subscribed.partner.requests).toHaveLength(1);
  expect(await first.given.sql('SELECT FROM deliveries WHERE lease_token IS NOT NULL')).toEqual([]);
  await verify();
  await next.received(2);
  expect(codesOf(next.requests)).toEqual([held]);
});

test('a suspended partner is SUSPENDED again once its new address is verified, and resume sends the notifications that waited', async () => {
  await subscribed.post('suspend');
  const suspended = await subscribed.booking();
  await isMade(1);
  await move();
  for (const action of ['suspend', 'resume']) {
    const answer = await subscribed.post(action);
    expect([answer.status, answer.body.code]).toEqual([409, 'subscription_unverified']);
  }
  const meanwhile = await subscribed.booking();
  await isMade(2);
  expect(await subscribed.subscription()).toMatchObject({ state: 'UNVERIFIED', suspended_by: 'OPERATOR' });
  await move(subscribed.partner);
  await move();
  const verified = await subscribed.post('verify');
  expect([verified.status, verified.body]).toMatchObject([200, { state: 'SUSPENDED', suspended_by: 'OPERATOR' }]);
  await pause(A_WHILE_MS);
  expect(codesOf(next.requests)).toEqual([]);
  expect((await subscribed.post('resume')).body).toMatchObject({ state: 'ACTIVE', suspended_by: null });
  await next.received(3);
  expect(codesOf(next.requests)).toEqual([suspended, meanwhile]);
});

test('a partner that was resumed after an earlier address change becomes ACTIVE when its next address is verified', async () => {
  await subscribed.post('suspend');
  await move();
  await subscribed.post('verify');
  await subscribed.post('resume');
  await move(subscribed.partner);
  expect(await subscribed.subscription()).toMatchObject({ suspended_by: null });
  await verify();
});

test('if partner_url changes and changes back before verification, all notifications are sent to the address that is verified', async () => {
  await move();
  const one = await subscribed.booking();
  await isMade(1);
  await move(subscribed.partner);
  const two = await subscribed.booking();
  await isMade(2);
  await verify();
  await subscribed.partner.received(3);
  expect(codesOf(subscribed.partner.requests)).toEqual([one, two]);
  expect(codesOf(next.requests)).toEqual([]);
});

test('does not probe a DOWN partner while its new address is unverified, and sends waiting notifications after verification', async () => {
  subscribed.partner.answer({ status: 500 });
  const queued = await subscribed.booking();
  await eventually(async () => expect(await states()).toEqual([['ERROR_QUEUE', 'AUTO']]));
  await move();
  const probes = subscribed.partner.requests.length;
  const meanwhile = await subscribed.booking();
  await isMade(2);
  await pause(A_WHILE_MS);
  expect([subscribed.partner.requests.length, next.requests.length]).toEqual([probes, 0]);
  await verify();
  await next.received(3);
  expect(codesOf(next.requests)).toEqual([queued, meanwhile]);
});

test('the time during which a new address is unverified does not count towards RETRY_GIVE_UP_H', async () => {
  subscribed.partner.answer({ status: 500 });
  await subscribed.booking();
  await eventually(async () => expect(await states()).toEqual([['ERROR_QUEUE', 'AUTO']]));
  await move();
  await first.given.sql(
    `UPDATE notifications SET queued_datetime = now() - interval '40 hours' WHERE subscription_id = $1`,
    [subscribed.id],
  );
  await first.given.sql(`UPDATE subscriptions SET suspended_datetime = now() - interval '30 hours' WHERE id = $1`, [
    subscribed.id,
  ]);
  next.answer((_, index) => ({ status: index === 0 ? 200 : 500 }));
  await verify();
  await eventually(async () => expect((await subscribed.subscription())['health']).toBe('DOWN'));
  await pause(A_WHILE_MS);
  expect(await states()).toEqual([['ERROR_QUEUE', 'AUTO']]);
});

test('until a new address is verified, bulk jobs for the partner wait and single resends are refused', async () => {
  const delivered = await subscribed.booking();
  await subscribed.partner.received(1);
  subscribed.partner.answer({ status: 404 });
  const refused = await subscribed.booking();
  await eventually(async () => expect(await states()).toContainEqual(['ERROR_QUEUE', 'MANUAL']));
  await move();
  const [{ id }] = await subscribed.queue();
  const single = await subscribed.admin('POST', `error-queue/${id}/resend`, {});
  expect([single.status, single.body.code]).toEqual([409, 'subscription_unverified']);
  const filter = { subscription_id: subscribed.id };
  const jobs = [
    await subscribed.admin('POST', 'error-queue/resend', { filter, reason: 'the partner moved' }),
    await subscribed.admin('POST', 'notifications/replay', { ...filter, filter: {}, reason: 'the partner moved' }),
  ];
  expect(jobs.map(({ status }) => status)).toEqual([202, 202]);
  await pause(A_WHILE_MS);
  expect([codesOf(subscribed.partner.requests), codesOf(next.requests)]).toEqual([[delivered, refused], []]);
  await verify();
  await next.received(3);
  expect(codesOf(next.requests).sort()).toEqual([delivered, refused].sort());
  for (const { body } of jobs)
    await eventually(async () =>
      expect((await subscribed.admin('GET', `jobs/${body.job_id}`)).body).toMatchObject({
        state: 'DONE',
        delivered: 1,
      }),
    );
});

test('while a new address is unverified, a change of change_reasons affects later events, and statistics count waiting bookings', async () => {
  await move();
  await subscribed.booking();
  await isMade(1);
  await subscribed.patch({ change_reasons: ['BOOKING_CANCELLED'] });
  const cancelled = await subscribed.booking();
  await subscribed.cancel(cancelled);
  await isMade(2);
  const { body } = await subscribed.get(`/admin/subscriptions/${subscribed.id}/statistics`);
  expect(body).toMatchObject({ bookings_waiting: 2, oldest_undelivered: expect.any(String) });
  await verify();
  await next.received(3);
  expect(next.requests.slice(1).map(({ json }) => json.change_reason)).toEqual([
    'BOOKING_CREATED',
    'BOOKING_CANCELLED',
  ]);
});

test('a change of partner_url discards the measured request rate, the pause and the certificate expiry of the old address', async () => {
  await first.given.sql(
    `UPDATE subscriptions SET paused_from = now(), paused_until = now() + interval '1 hour', pace = 1, pace_ceiling = 2
     WHERE id = $1`,
    [subscribed.id],
  );
  await move();
  expect(await subscribed.subscription()).toMatchObject({ paused_until: null, pace: null });
  const { body } = await subscribed.get(`/admin/subscriptions/${subscribed.id}/statistics`);
  expect(body.certificate_not_after).toBeNull();
  await subscribed.booking();
  await verify();
  await next.received(2);
});

test('a 429 from the old address that arrives before the new address is verified does not pause the partner', async () => {
  let answer!: () => void;
  const mayAnswer = new Promise<void>((resolve) => (answer = resolve));
  subscribed.partner.answer(async () => {
    await mayAnswer;
    return { status: 429, headers: { 'retry-after': '3600' } };
  });
  const code = await subscribed.booking();
  await subscribed.partner.received(1);
  await move();
  answer();
  await eventually(async () => expect((await subscribed.notifications())[0]['http_status']).toBe(429));
  expect(await subscribed.subscription()).toMatchObject({ paused_until: null, pace: null });
  await verify();
  expect(await subscribed.subscription()).toMatchObject({ paused_until: null, pace: null });
  await next.received(2);
  expect(codesOf(next.requests)).toEqual([code]);
});

test.each([
  [429, { 'retry-after': '3600' }],
  [500, {}],
])(
  'a %i response from the old address that arrives after the new address is verified does not affect the partner',
  async (status, headers) => {
    let answer!: () => void;
    const mayAnswer = new Promise<void>((resolve) => (answer = resolve));
    subscribed.partner.answer(async () => {
      await mayAnswer;
      return { status, headers: headers };
    });
    await subscribed.booking();
    await subscribed.partner.received(1);
    await move();
    await verify();
    await subscribed.booking();
    await next.received(2);
    answer();
    // After the late response from the old address, the notification is sent to the new address.
    await next.received(3);
    await subscribed.booking();
    await next.received(4);
    expect(await subscribed.subscription()).toMatchObject({
      state: 'ACTIVE',
      health: 'UP',
      paused_until: null,
      pace: null,
    });
    await eventually(async () => expect((await states()).every(([state]) => state === 'DELIVERED')).toBe(true));
  },
);

test('a process that missed the NOTIFY about a new address later reads the address from the database', async () => {
  subscribed.partner.answer({ status: 429, headers: { 'retry-after': '3600' } });
  await subscribed.booking();
  await eventually(async () => expect((await subscribed.subscription())['paused_until']).not.toBeNull());
  await move();
  await first.given.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
  );
  await verify();
  await next.received(2, 40_000);
}, 60_000);

test('while a partner changes its address, each event is delivered once, and the events of each booking arrive in order', async () => {
  const BOOKINGS = 40;
  let halfway!: () => void;
  const isHalfway = new Promise<void>((resolve) => (halfway = resolve));
  let made = 0;
  const codes: string[] = [];
  const traffic = Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let n = 0; n < BOOKINGS / 4; n++) {
        const code = await subscribed.booking();
        codes.push(code);
        await subscribed.reschedule(code);
        if (++made === BOOKINGS / 4) halfway();
      }
    }),
  );
  await isHalfway;
  await move();
  const atTheOld = subscribed.partner.requests.length;
  await verify();
  await traffic;
  const all = () => [...subscribed.partner.requests, ...next.requests.slice(1)];
  await eventually(() => expect(all()).toHaveLength(2 * BOOKINGS), 20_000);
  // Attempts that had begun before the change may still arrive at the old address.
  expect(subscribed.partner.requests.length - atTheOld).toBeLessThanOrEqual(16);
  for (const code of codes) {
    const ofBooking = all().filter(({ json }) => json.booking_code === code);
    expect(ofBooking.map(({ headers }) => headers['event-sequence'])).toEqual(['1', '2']);
  }
  await eventually(async () =>
    expect(
      await first.given.sql(`SELECT state, count(*)::int FROM notifications WHERE subscription_id = $1 GROUP BY 1`, [
        subscribed.id,
      ]),
    ).toEqual([{ state: 'DELIVERED', count: 2 * BOOKINGS }]),
  );
});
