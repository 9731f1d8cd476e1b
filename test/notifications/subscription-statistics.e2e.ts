import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { dateTime } from '../support/given';
import { Subscribed } from '../support/subscribed';

const DAY_MS = 86_400_000;

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '60' } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

const statistics = async () => (await subscribed.get(`/admin/subscriptions/${subscribed.id}/statistics`)).body;

/** Books an exam that starts in the given number of days; returns its start. */
async function bookedIn(days: number): Promise<{ code: string; on: string }> {
  const on = dateTime(Date.now() + days * DAY_MS);
  return { code: await subscribed.booking({ booking_on: on }), on };
}

test('the statistics of a subscription without deliveries return every hour of seven days with zero attempts', async () => {
  const { hours, ...rest } = await statistics();
  expect(rest).toEqual({
    subscription_id: subscribed.id,
    oldest_undelivered: null,
    bookings_waiting: 0,
    next_booking_on: null,
    certificate_not_after: expect.any(String),
  });
  expect(hours).toHaveLength(168);
  expect(hours[167].from).toBe(new Date().toISOString().slice(0, 13) + ':00:00Z');
  for (const { from: _from, ...hour } of hours)
    expect(hour).toEqual({ delivered: 0, failed: {}, p50_ms: null, p95_ms: null });
});

test('the statistics of a subscription count attempts per hour and outcome class, and include p50 and p95 durations', async () => {
  let count = 0;
  subscribed.partner.answer(() => ({ status: [200, 400, 403, 200, 400][count++] ?? 200, delayMs: 20 }));
  for (let i = 0; i < 5; i++) await subscribed.booking();
  const hour = await eventually(async () => {
    const { hours } = await statistics();
    const used = hours.filter((one: any) => one.p50_ms !== null);
    const delivered = used.reduce((sum: number, one: any) => sum + one.delivered, 0);
    expect(delivered).toBe(2);
    expect(used.at(-1).failed).toEqual({ client_error: 2, auth: 1 });
    return used.at(-1);
  });
  expect(hour.p50_ms).toBeGreaterThanOrEqual(20);
  expect(hour.p95_ms).toBeGreaterThanOrEqual(hour.p50_ms);
});

test('the statistics of a subscription omit attempts older than seven days, and return observed durations as p50 and p95', async () => {
  await subscribed.booking();
  await eventually(async () => expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(1));
  await app.given.sql('DELETE FROM notification_attempts WHERE subscription_id = $1', [subscribed.id]);
  await app.given.sql(
    `INSERT INTO notification_attempts (notification_position, subscription_id, at, duration_ms, trigger, http_status)
     SELECT 1, $1::uuid, date_trunc('hour', now()) - interval '3 hours' + n * interval '1 second', n, 'FIRST', 200
     FROM generate_series(1, 100) AS n
     UNION ALL SELECT 1, $1::uuid, now() - interval '8 days', 5, 'FIRST', 200`,
    [subscribed.id],
  );
  const { hours } = await statistics();
  expect(hours.filter((one: any) => one.delivered > 0)).toEqual([
    { from: hours[164].from, delivered: 100, failed: {}, p50_ms: 50, p95_ms: 95 },
  ]);
});

test('the statistics return the number of waiting bookings, the time of the oldest waiting notification, and the next exam', async () => {
  subscribed.partner.answer({ status: 400 });
  const [later, sooner] = [await bookedIn(9), await bookedIn(5)];
  await eventually(async () => expect(await subscribed.queue()).toHaveLength(2));
  const [oldest] = await subscribed.queue();
  const waiting = await statistics();
  expect(waiting).toMatchObject({
    oldest_undelivered: oldest['created_datetime'],
    bookings_waiting: 2,
    next_booking_on: sooner.on,
  });
  // Moves the earlier exam to a time after the other exam. The last event of a booking contains the current exam time,
  // so the other exam is now the next one.
  await subscribed.reschedule(sooner.code, { booking_on: dateTime(Date.now() + 20 * DAY_MS) });
  await eventually(async () => expect(await subscribed.queue()).toHaveLength(3));
  expect(await statistics()).toMatchObject({ bookings_waiting: 2, next_booking_on: later.on });
  const { body: summary } = await subscribed.admin('GET', 'error-queue/summary');
  expect(summary.find((cause: any) => cause.subscription_id === subscribed.id)).toMatchObject({
    count: 3,
    next_booking_on: later.on,
  });
});

test('the statistics of a subscription do not count changes of records as waiting bookings', async () => {
  await subscribed.patch({ record_changes: ['CREATED'] });
  subscribed.partner.answer({ status: 400 });
  await app.given.eligibility(subscribed.scene);
  await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
  expect(await statistics()).toMatchObject({ bookings_waiting: 0, next_booking_on: null });
});

test('the statistics of a subscription also count notifications that wait for a SUSPENDED partner', async () => {
  await subscribed.post('suspend');
  const { on } = await bookedIn(4);
  await eventually(async () => expect(await statistics()).toMatchObject({ bookings_waiting: 1, next_booking_on: on }));
});

test('the statistics of a subscription do not return a past exam as the next exam', async () => {
  subscribed.partner.answer({ status: 400 });
  await bookedIn(5);
  await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
  await app.given.sql(
    `UPDATE notifications SET body = replace(body, body::json->>'booking_on', '2020-01-01T10:00:00Z')
     WHERE subscription_id = $1`,
    [subscribed.id],
  );
  expect(await statistics()).toMatchObject({ bookings_waiting: 1, next_booking_on: null });
});

test('the statistics show the expiry of the certificate that the partner presented at the last verification or delivery', async () => {
  const shown = (await statistics()).certificate_not_after;
  await app.given.sql('UPDATE subscriptions SET certificate_not_after = NULL WHERE id = $1', [subscribed.id]);
  await subscribed.booking();
  const { certificate_not_after } = await eventually(async () => {
    const found = await statistics();
    expect(found.certificate_not_after).not.toBeNull();
    return found;
  }, 20_000);
  expect(certificate_not_after).toBe(shown);
  expect(Date.parse(certificate_not_after)).toBeGreaterThan(Date.now());
});

test('returns 404 for the statistics of an unknown subscription', async () => {
  const answer = await subscribed.get(`/admin/subscriptions/${randomUUID()}/statistics`);
  expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
});
