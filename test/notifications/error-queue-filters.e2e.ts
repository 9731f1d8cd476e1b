import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { BulkJobs } from '../support/queued';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;
let gone: Subscribed;
let jobs: BulkJobs;

/**
 * Creates four undelivered notifications. The first was answered with 400, and the second with 500. The third is not
 * attempted, because its partner is DOWN after the 500. The fourth failed, because the port of its partner is closed.
 */
beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '60' } });
  subscribed = await Subscribed.start(app);
  jobs = new BulkJobs(app, subscribed.operator);
  gone = await Subscribed.start(app);
  let count = 0;
  subscribed.partner.answer(() => ({ status: [400, 500][count++] ?? 200 }));
  for (let i = 0; i < 3; i++) {
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.queue()).toHaveLength(i + 1));
  }
  await gone.partner.stop();
  await gone.booking();
  await eventually(async () => expect(await gone.queue()).toHaveLength(1));
});
afterAll(async () => {
  await subscribed.stop();
  await app.close();
});

const body = async (path: string) => (await subscribed.admin('GET', path)).body as Record<string, any>[];

test('the filter failure=none finds only notifications that were never attempted, in the error queue and in bulk jobs', async () => {
  const [notTried] = await body(`error-queue?failure=none&subscription_id=${subscribed.id}`);
  expect(notTried).toMatchObject({ failure: null, http_status: null, retry: 'AUTO' });
  const dry = await jobs.call('POST', 'error-queue/resend', {
    filter: { failure: 'none', subscription_id: subscribed.id },
    reason: 'x',
    dry_run: true,
  });
  expect(dry.body.matched).toBe(1);
  const id = await jobs.start('error-queue/resolve', { filter: { failure: 'none', account_code: gone.scene.account } });
  await jobs.having(id, { state: 'DONE', matched: 0 });
});

test('shows the reason for a failure in the attempt and in the summary, and can filter the error queue by this reason', async () => {
  const [row] = await gone.queue();
  const { attempts } = await gone.notification(row['id']);
  expect(attempts).toEqual([
    expect.objectContaining({ failure: 'connect', http_status: null, reason: 'ECONNREFUSED' }),
  ]);
  const refusal = (await subscribed.queue('&failure=client_error'))[0];
  expect((await subscribed.notification(refusal['id'])).attempts[0]).toMatchObject({
    http_status: 400,
    reason: 'NO_MATCHING_RECORD',
  });
  const summary = await body('error-queue/summary');
  expect(summary.find((cause) => cause['subscription_id'] === gone.id)).toMatchObject({
    account_code: gone.scene.account,
    partner_url: gone.partner.url,
    failure: 'connect',
    reason: 'ECONNREFUSED',
    count: 1,
  });
  expect(await body('error-queue?reason=ECONNREFUSED')).toEqual([row]);
  expect(await body('error-queue?reason=none')).toHaveLength(2);
});

test.each(['error-queue', 'notifications'])('GET %s can filter notifications by candidate', async (list) => {
  const [row] = await subscribed.queue();
  const candidate = (await subscribed.notification(row['id'])).body.candidate_id as string;
  expect((await body(`${list}?candidate_id=${candidate}`)).map(({ id }) => id)).toEqual([row['id']]);
  expect(await body(`${list}?candidate_id=NOBODY`)).toEqual([]);
});

test('the filter of a bulk job can contain a candidate_id', async () => {
  const [row] = await subscribed.queue('&failure=client_error');
  const candidate = (await subscribed.notification(row['id'])).body.candidate_id as string;
  const id = await jobs.start('error-queue/resolve', { filter: { candidate_id: candidate } });
  await jobs.having(id, { state: 'DONE', matched: 1 });
  expect((await subscribed.notification(row['id'])).state).toBe('RESOLVED');
});
