import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { BulkJobs, queueMany } from '../support/queued';
import { whatIsAsked } from '../support/statements';
import { Subscribed } from '../support/subscribed';

const MANY = 200_000;

let app: TestApp;
let subscribed: Subscribed;
let jobs: BulkJobs;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  jobs = new BulkJobs(app, subscribed.operator);
  for (let i = 0; i < 10; i++) await queueMany(subscribed, MANY / 10);
  await app.given.slowSql('ANALYZE notifications');
}, 180_000);
afterAll(async () => {
  await subscribed.stop();
  await app.close();
});

const filter = () => ({ subscription_id: subscribed.id });
const items = async (id: string) =>
  (await app.given.slowSql('SELECT count(*) FROM job_items WHERE job_id = $1', [id]))[0]['count'] as number;

test('a large bulk job is accepted before it has collected its notifications, and can be paused, resumed and aborted meanwhile', async () => {
  const answer = await jobs.call('POST', 'error-queue/resend', { filter: filter(), reason: 'all of it' });
  expect([answer.status, answer.body.matched]).toEqual([202, null]);
  const id = answer.body.job_id as string;
  await eventually(async () => expect(await items(id)).toBeGreaterThan(0));
  expect(await jobs.get(id)).toMatchObject({ state: 'PREPARING', matched: null });
  expect(await jobs.steer(id, 'pause')).toMatchObject({ state: 'PAUSED', matched: null, paused_because: 'operator' });
  const paused = await items(id);
  await pause(1000);
  expect(await items(id)).toBe(paused);
  expect(paused).toBeLessThan(MANY);
  expect(await jobs.steer(id, 'resume')).toMatchObject({ state: 'PREPARING', matched: null });
  await eventually(async () => expect(await items(id)).toBeGreaterThan(paused));
  expect(await jobs.steer(id, 'abort')).toMatchObject({ state: 'ABORTED', matched: null });
  const aborted = await items(id);
  await pause(1000);
  expect(await items(id)).toBe(aborted);
  const again = await jobs.call('POST', `jobs/${id}/pause`);
  expect([again.status, again.body.code]).toEqual([409, 'job_finished']);
  expect(subscribed.partner.requests).toHaveLength(0);
}, 60_000);

const dryRun = (more: object = {}) =>
  jobs.call('POST', 'error-queue/resend', { filter: { ...filter(), ...more }, reason: 'x', dry_run: true });

test('a dry run of a bulk job that filters by cause counts the notifications without reading the error queue', async () => {
  const { done: answers, asked } = await whatIsAsked(app, async () => [
    await dryRun(),
    await dryRun({ failure: 'client_error', http_status: 400, reason: 'none' }),
  ]);
  const statements = asked.map(([{ text }]) => text);
  for (const { body } of answers) expect(body).toEqual({ job_id: null, resend_id: null, matched: MANY });
  expect(statements.some((text) => text.includes('error_queue_causes'))).toBe(true);
  expect(statements.filter((text) => /\bnotifications\b/.test(text))).toEqual([]);
  for (const other of [{ failure: 'tls' }, { retry: 'AUTO' }, { http_status: 200 }, { reason: 'ECONNREFUSED' }])
    expect((await dryRun(other)).body.matched).toBe(0);
});

test('a dry run of a bulk job without a filter by cause returns the exact number of notifications or a lower bound', async () => {
  const { status, body } = await dryRun({ change_reason: 'BOOKING_CREATED' });
  expect(status).toBe(200);
  if (body.matched === null) expect(body.matched_at_least).toBeGreaterThan(0);
  else expect(body).toEqual({ job_id: null, resend_id: null, matched: MANY });
});

test('a large bulk job that is aborted sends no notification twice, and leaves unsent notifications unchanged', async () => {
  const id = await jobs.start('error-queue/resend', { filter: filter() });
  const { matched } = await eventually(async () => {
    const found = await jobs.get(id);
    expect(found['delivered']).toBeGreaterThan(1000);
    return found;
  }, 90_000);
  expect(matched).toBe(MANY);
  await jobs.steer(id, 'abort');
  const { sent, delivered, waiting } = await eventually(async () => {
    const found = await jobs.get(id);
    expect(found['sent']).toBe(found['delivered']);
    return found;
  });
  expect(waiting).toBe(MANY - sent);
  const distinct = new Set(subscribed.partner.requests.map(({ headers }) => headers['webhook-id'])).size;
  expect([distinct, subscribed.partner.requests.length]).toEqual([delivered, delivered]);
  const [{ count }] = await app.given.slowSql(
    `SELECT count(*) FROM notifications WHERE state = 'ERROR_QUEUE' AND failure = 'client_error' AND retry = 'MANUAL'`,
  );
  expect(count).toBe(MANY - delivered);
}, 120_000);

test('a bulk job resolves only the notifications that its filter selects from a large error queue', async () => {
  const left = (await jobs.call('GET', 'error-queue/summary')).body[0].count as number;
  const id = await jobs.start('error-queue/resolve', { filter: { ...filter(), booking_code: 'M000000001' } });
  const { matched } = await jobs.having(id, { state: 'DONE' });
  expect(matched).toBeLessThanOrEqual(10);
  expect((await jobs.call('GET', 'error-queue/summary')).body[0].count).toBe(left - matched);
}, 60_000);

test('a bulk job resolves a small set of notifications while another job resolves a large set', async () => {
  const other = await Subscribed.start(app);
  await queueMany(other, 10);
  const large = await jobs.start('error-queue/resolve', { filter: filter() });
  await eventually(async () => {
    const { matched, waiting } = await jobs.get(large);
    expect(waiting).toBeLessThan(matched);
  }, 60_000);
  const small = await jobs.start('error-queue/resolve', { filter: { subscription_id: other.id } });
  expect(await jobs.having(small, { state: 'DONE' })).toMatchObject({ matched: 10, waiting: 0, skipped: 0 });
  expect((await jobs.steer(large, 'abort'))['waiting']).toBeGreaterThan(0);
  await other.stop();
}, 120_000);
