import { randomUUID } from 'node:crypto';
import { nextPath } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { BulkJobs, queueMany, refused } from '../support/queued';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;
let jobs: BulkJobs;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '60' } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
  jobs = new BulkJobs(app, subscribed.operator);
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

const mine = () => ({ subscription_id: subscribed.id });
const resolve = (body: object = {}, headers?: Record<string, string>) =>
  jobs.call('POST', 'error-queue/resolve', { filter: mine(), reason: 'told by phone', ...body }, headers);

test('a bulk resolve sets all matching notifications to RESOLVED, stores the reason, and never sends them', async () => {
  const rows = await refused(subscribed, 3);
  const answer = await resolve();
  expect(answer.status).toBe(202);
  expect(answer.body).toEqual({ job_id: expect.any(String), matched: null });
  const id = answer.body.job_id as string;
  expect(await jobs.having(id, { state: 'DONE' })).toMatchObject({
    kind: 'RESOLVE',
    matched: 3,
    waiting: 0,
    sent: 0,
    skipped: 0,
    resolved: 3,
  });
  expect(await jobs.outcomes(id)).toEqual(['RESOLVED', 'RESOLVED', 'RESOLVED']);
  expect(await subscribed.queue()).toEqual([]);
  expect(await subscribed.notifications('&state=RESOLVED')).toHaveLength(3);
  expect(subscribed.partner.requests).toHaveLength(0);
  const reasons = await app.given.sql('SELECT DISTINCT reason FROM notifications WHERE subscription_id = $1', [
    subscribed.id,
  ]);
  expect(reasons).toEqual([{ reason: 'told by phone' }]);
  expect((await subscribed.admin('POST', `error-queue/${rows[0]['id']}/resend`)).status).toBe(409);
});

test('a bulk resolve also resolves notifications of a DOWN partner, and ends their automatic retries', async () => {
  subscribed.partner.answer({ status: 500 });
  await subscribed.booking();
  await eventually(async () => expect((await subscribed.subscription())['health']).toBe('DOWN'));
  await subscribed.booking();
  await eventually(async () => expect(await subscribed.queue('&retry=AUTO')).toHaveLength(2));
  const id = (await resolve()).body.job_id as string;
  await jobs.having(id, { state: 'DONE', matched: 2, waiting: 0, resolved: 2 });
  expect(await app.given.sql('SELECT FROM deliveries WHERE subscription_id = $1', [subscribed.id])).toEqual([]);
});

test('a bulk resolve waits for a running attempt, and skips the notification if the attempt delivers it', async () => {
  subscribed.partner.answer({ status: 500 });
  await subscribed.booking();
  await eventually(async () => expect(await subscribed.queue('&retry=AUTO')).toHaveLength(1));
  subscribed.partner.requests.length = 0;
  subscribed.partner.answer({ status: 200, delayMs: 800 });
  await app.given.sql('UPDATE subscriptions SET next_probe_at = now() WHERE id = $1', [subscribed.id]);
  await subscribed.partner.received(1);
  const id = (await resolve()).body.job_id as string;
  await jobs.having(id, { state: 'DONE', matched: 1, skipped: 1, resolved: 0 });
  expect(await jobs.outcomes(id)).toEqual(['SKIPPED']);
  expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(1);
});

test('a dry run of a bulk resolve only counts the matches; two requests with the same Idempotency-Key create one job', async () => {
  await refused(subscribed, 2);
  const dry = await resolve({ dry_run: true });
  expect([dry.status, dry.body]).toEqual([200, { job_id: null, matched: 2 }]);
  const key = { 'idempotency-key': randomUUID() };
  const [first, second] = [await resolve({}, key), await resolve({}, key)];
  expect(second.body).toEqual(first.body);
  expect(second.headers.get('idempotency-replayed')).toBe('true');
});

test('a bulk resolve resolves 3,000 notifications, and keeps the counts of the error queue correct', async () => {
  await queueMany(subscribed, 3000);
  const id = (await resolve()).body.job_id as string;
  await jobs.having(id, { state: 'DONE', matched: 3000, waiting: 0, resolved: 3000 }, 30_000);
  const { body } = await jobs.call('GET', 'error-queue/summary');
  expect(body.filter((cause: any) => cause.subscription_id === subscribed.id)).toEqual([]);
}, 60_000);

test('lists jobs newest first by kind, state and account, and lists the items of a job by outcome, one page at a time', async () => {
  await refused(subscribed, 5);
  const resolved = (await resolve({ filter: { ...mine(), failure: 'tls' } })).body.job_id as string;
  await jobs.having(resolved, { state: 'DONE' });
  const resent = await jobs.start('error-queue/resend', {
    filter: { account_code: subscribed.scene.account },
  });
  await jobs.having(resent, { state: 'DONE' });
  const ids = async (query: string) =>
    ((await jobs.call('GET', `jobs?${query}`)).body as any[]).map(({ job_id }) => job_id as string);
  expect((await ids('limit=2')).sort()).toEqual([resolved, resent].sort());
  expect((await ids('limit=1'))[0]).toBe(resent);
  expect((await ids('kind=RESOLVE&state=DONE'))[0]).toBe(resolved);
  expect(await ids('kind=REPLAY')).toEqual([]);
  expect(await ids(`account_code=${subscribed.scene.account}`)).toEqual([resent, resolved]);
  expect((await jobs.call('GET', 'jobs?account_code=NOBODY')).status).toBe(400);
  expect((await jobs.call('GET', 'jobs?kind=OTHER')).body.errors).toEqual([
    expect.objectContaining({ parameter: 'kind', code: 'kind_unknown' }),
  ]);
  const page = await jobs.call('GET', 'jobs?limit=1');
  const next = nextPath(page)!.slice('/admin/'.length);
  expect((await jobs.call('GET', next)).body[0].job_id).toBe(resolved);

  const found: string[] = [];
  let path: string | undefined = `jobs/${resent}/items?limit=2&outcome=DELIVERED`;
  while (path) {
    const items: any = await jobs.call('GET', path);
    found.push(...items.body.map(({ booking_code }: any) => booking_code));
    path = nextPath(items)?.slice('/admin/'.length);
  }
  const bookings = (await subscribed.notifications()).map(({ booking_code }) => booking_code);
  expect(found).toEqual(bookings);
  expect((await jobs.call('GET', `jobs/${resent}/items?outcome=FAILED`)).body).toEqual([]);
  expect((await jobs.call('GET', `jobs/${randomUUID()}/items`)).status).toBe(404);
  expect((await jobs.call('GET', `jobs/${randomUUID()}`)).status).toBe(404);
});
