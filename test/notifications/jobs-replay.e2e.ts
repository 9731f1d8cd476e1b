import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { BulkJobs } from '../support/queued';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;
let jobs: BulkJobs;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '0.3' } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
  jobs = new BulkJobs(app, subscribed.operator);
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

const replay = (filter: object = {}, more: object = {}) =>
  jobs.start('notifications/replay', { subscription_id: subscribed.id, filter, ...more });
const sent = () => subscribed.partner.requests.map(({ headers, raw }) => [headers['webhook-id'], raw.toString()]);
const order = (bookingCode: string) =>
  subscribed.partner.requests
    .filter(({ json }) => json.booking_code === bookingCode)
    .map(({ headers }) => Number(headers['event-sequence']));

/**
 * Creates bookings that are moved twice, and waits until all their notifications are delivered. Returns the booking
 * codes.
 */
async function delivered(bookings: number): Promise<string[]> {
  const codes: string[] = [];
  for (let i = 0; i < bookings; i++) {
    const code = await subscribed.booking();
    await subscribed.reschedule(code);
    await subscribed.reschedule(code);
    codes.push(code);
  }
  await eventually(async () => expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(3 * bookings));
  return codes;
}

test('a replay sends delivered notifications again with the same ids and bytes, in order within a booking', async () => {
  const codes = await delivered(4);
  const first = new Map(sent().map(([id, body]) => [id, body]));
  const before = await subscribed.notifications();
  subscribed.partner.requests.length = 0;
  const id = await replay();
  const job = await jobs.having(id, { state: 'DONE' });
  expect(job).toMatchObject({ kind: 'REPLAY', matched: 12, sent: 12, delivered: 12, failed: 0, waiting: 0 });
  expect(sent()).toHaveLength(12);
  expect(new Map(sent().map(([key, body]) => [key, body]))).toEqual(first);
  for (const code of codes) expect(order(code)).toEqual([1, 2, 3]);
  expect(await subscribed.notifications()).toEqual(before);
  const { attempts } = await subscribed.notification(before[0]['id']);
  expect(attempts.map(({ trigger, http_status }: any) => [trigger, http_status])).toEqual([
    ['FIRST', 200],
    ['REPLAY', 200],
  ]);
});

test('a replay sends only the notifications that match its filters for booking, time and change reason', async () => {
  const [one] = await delivered(2);
  const dry = async (filter: object) =>
    (await jobs.call('POST', 'notifications/replay', {
      subscription_id: subscribed.id,
      filter,
      reason: 'x',
      dry_run: true,
    })) as any;
  expect((await dry({ booking_code: one })).body).toEqual({ job_id: null, matched: 3 });
  expect((await dry({ change_reason: 'BOOKING_CREATED' })).body.matched).toBe(2);
  expect((await dry({ to: '2020-01-01T00:00:00Z' })).body.matched).toBe(0);
  expect((await dry({ from: '2020-01-01T00:00:00Z' })).body.matched).toBe(6);
  expect((await dry({})).status).toBe(200);
  subscribed.partner.requests.length = 0;
  const id = await replay({ booking_code: one, change_reason: 'BOOKING_RESCHEDULED' });
  await jobs.having(id, { state: 'DONE', matched: 2, delivered: 2 });
  expect(order(one)).toEqual([2, 3]);
});

test('a replay sends delivered notifications again, but none from the error queue', async () => {
  await delivered(1);
  subscribed.partner.answer({ status: 400 });
  await subscribed.booking();
  await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
  subscribed.partner.answer({ status: 200 });
  const id = await replay();
  await jobs.having(id, { state: 'DONE', matched: 3, delivered: 3 });
  expect(await subscribed.queue()).toHaveLength(1);
});

test('a replayed notification is sent after the notifications that are still due for its booking', async () => {
  const [code] = await delivered(1);
  // The next event of the replayed booking stays due, because the partner becomes DOWN.
  subscribed.partner.answer({ status: 500 });
  await subscribed.reschedule(code);
  await eventually(async () => expect((await subscribed.subscription())['health']).toBe('DOWN'));
  const id = await replay();
  await jobs.having(id, { state: 'RUNNING', waiting: 3 });
  await pause(300);
  expect(await jobs.get(id)).toMatchObject({ sent: 0 });
  subscribed.partner.requests.length = 0;
  subscribed.partner.answer({ status: 200 });
  await jobs.having(id, { state: 'DONE', delivered: 3 });
  const succeeded = order(code);
  expect(succeeded.slice(-3)).toEqual([1, 2, 3]);
  expect(succeeded.slice(0, -3)).toContain(4);
});

test('while a notification is being replayed, a new event of the same booking waits', async () => {
  const [code] = await delivered(1);
  subscribed.partner.requests.length = 0;
  subscribed.partner.answer({ status: 200, delayMs: 400 });
  const id = await replay();
  await subscribed.partner.received(1);
  await subscribed.reschedule(code);
  await jobs.having(id, { state: 'DONE', delivered: 3 });
  await eventually(() => expect(order(code)).toHaveLength(4));
  const begun = subscribed.partner.requests.map(({ headers }) => headers['event-sequence']);
  expect(begun[0]).toBe('1');
  expect(begun.filter((sequence) => sequence !== '4')).toEqual(['1', '2', '3']);
});

test('a notification whose replay fails is counted as failed, and stays DELIVERED', async () => {
  await delivered(1);
  subscribed.partner.answer({ status: 400 });
  const id = await replay();
  await jobs.having(id, { state: 'DONE', sent: 3, delivered: 0, failed: 3 });
  expect(await jobs.outcomes(id)).toEqual(['FAILED', 'FAILED', 'FAILED']);
  expect(await subscribed.queue()).toEqual([]);
  expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(3);
  expect(await app.given.sql('SELECT FROM deliveries WHERE subscription_id = $1', [subscribed.id])).toEqual([]);
});

test('a 500 pauses a replay and turns the partner DOWN, while the replayed notifications stay DELIVERED', async () => {
  await delivered(1);
  subscribed.partner.answer({ status: 500 });
  const id = await replay();
  await jobs.having(id, { state: 'PAUSED', paused_because: 'server_error', sent: 1, failed: 1, waiting: 2 });
  expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(3);
});

test('an operator can pause and abort a replay', async () => {
  await delivered(5);
  subscribed.partner.requests.length = 0;
  subscribed.partner.answer({ status: 200, delayMs: 300 });
  const id = await replay();
  await subscribed.partner.received(1);
  expect(await jobs.steer(id, 'pause')).toMatchObject({ state: 'PAUSED', paused_because: 'operator' });
  expect(await jobs.steer(id, 'abort')).toMatchObject({ state: 'ABORTED' });
  await jobs.having(id, { sent: 1, delivered: 1, waiting: 14 });
  await pause(400);
  expect(subscribed.partner.requests).toHaveLength(1);
});

test('two replay requests with the same Idempotency-Key create one job; a request for an unknown subscription gets 404', async () => {
  await delivered(1);
  const key = { 'idempotency-key': randomUUID() };
  const body = { subscription_id: subscribed.id, filter: {}, reason: 'restored a backup' };
  const [first, second] = [
    await jobs.call('POST', 'notifications/replay', body, key),
    await jobs.call('POST', 'notifications/replay', body, key),
  ];
  expect([first.status, second.body]).toEqual([202, first.body]);
  expect(first.body).toEqual({ job_id: expect.any(String), matched: null });
  const unknown = await jobs.call('POST', 'notifications/replay', { ...body, subscription_id: randomUUID() });
  expect(unknown.status).toBe(404);
  const without = await jobs.call('POST', 'notifications/replay', { filter: {} });
  expect(without.body.errors.map(({ pointer }: any) => pointer).sort()).toEqual(['/reason', '/subscription_id']);
});

describe('a DOWN partner without a due notification', () => {
  /** Makes the partner DOWN: one event is delivered, the next event is answered with 500, and the probe with 401. */
  async function down(): Promise<void> {
    await delivered(1);
    subscribed.partner.answer({ status: 500 });
    await subscribed.booking();
    await eventually(async () => expect((await subscribed.subscription())['health']).toBe('DOWN'));
    subscribed.partner.answer({ status: 401 });
    await eventually(async () => expect(await subscribed.queue('&retry=MANUAL')).toHaveLength(1));
    expect(await subscribed.subscription()).toMatchObject({ health: 'DOWN' });
    subscribed.partner.requests.length = 0;
    subscribed.partner.answer({ status: 200 });
  }

  test('probes a DOWN partner with a notification of a bulk resend when no other notification is due', async () => {
    await down();
    const id = await jobs.start('error-queue/resend', { filter: { subscription_id: subscribed.id } });
    await jobs.having(id, { state: 'DONE', sent: 1, delivered: 1 });
    expect(await subscribed.subscription()).toMatchObject({ health: 'UP' });
    expect(subscribed.partner.requests).toHaveLength(1);
  });

  test('probes a DOWN partner with notifications of a replay, one at a time while the partner fails', async () => {
    await down();
    subscribed.partner.answer({ status: 500 });
    const id = await replay();
    await jobs.having(id, { state: 'PAUSED', paused_because: 'server_error', sent: 1, failed: 1 });
    expect(subscribed.partner.requests).toHaveLength(1);
    subscribed.partner.answer({ status: 200 });
    await jobs.steer(id, 'resume');
    await jobs.having(id, { state: 'DONE', sent: 3, delivered: 2, failed: 1 });
    expect(await subscribed.subscription()).toMatchObject({ health: 'UP' });
  });
});
