import { setTimeout as pause } from 'node:timers/promises';
import { NotificationRetention } from '../../src/notifications/delivery/notification-retention';
import { JobRetention } from '../../src/notifications/delivery/job-retention';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { BulkJobs, queueMany, refused } from '../support/queued';
import { Subscribed } from '../support/subscribed';

const SECRETS_KEY = Buffer.alloc(32, 5).toString('base64');

describe('a bulk job with the API in one process and delivery in two others', () => {
  let api: TestApp;
  let workers: TestApp[];
  let subscribed: Subscribed;
  let jobs: BulkJobs;

  beforeAll(async () => {
    api = await startApp({ env: { SECRETS_KEY, ROLES: 'api' } });
    const worker = () => startApp({ databaseUrl: api.databaseUrl, env: { SECRETS_KEY, ROLES: 'delivery' } });
    workers = [await worker(), await worker()];
  });
  beforeEach(async () => {
    subscribed = await Subscribed.start(api);
    jobs = new BulkJobs(api, subscribed.operator);
  });
  afterEach(() => subscribed.stop());
  afterAll(async () => {
    for (const worker of workers) await worker.close();
    await api.close();
  });

  test('a bulk job sends each event once, and sends one event at a time until the first success', async () => {
    await queueMany(subscribed, 500);
    let open = 0;
    let most = 0;
    let answered = 0;
    subscribed.partner.answer(async () => {
      open += 1;
      if (answered < 3) most = Math.max(most, open);
      await pause(20);
      open -= 1;
      return { status: ++answered <= 2 ? 400 : 200 };
    });
    const id = await jobs.start('error-queue/resend', { filter: { subscription_id: subscribed.id } });
    await jobs.having(id, { state: 'DONE', sent: 500, delivered: 498, failed: 2 }, 60_000);
    expect(most).toBe(1);
    const ids = subscribed.partner.requests.map(({ headers }) => headers['webhook-id']);
    expect([ids.length, new Set(ids).size]).toEqual([500, 500]);
  }, 90_000);

  test('a pause of a bulk job takes effect in all processes, even for notifications that they have claimed', async () => {
    await queueMany(subscribed, 400);
    subscribed.partner.answer({ status: 200, delayMs: 100 });
    const id = await jobs.start('error-queue/resend', { filter: { subscription_id: subscribed.id } });
    await eventually(() => expect(subscribed.partner.requests.length).toBeGreaterThan(20), 20_000);
    await jobs.steer(id, 'pause');
    await pause(1000);
    const sent = subscribed.partner.requests.length;
    await jobs.having(id, { state: 'PAUSED', sent, delivered: sent });
    await pause(1500);
    expect(subscribed.partner.requests).toHaveLength(sent);
    expect(sent).toBeLessThan(400);
  }, 60_000);
});

describe('retention of jobs', () => {
  let app: TestApp;
  let subscribed: Subscribed;
  beforeAll(async () => {
    app = await startApp({ env: { NOTIFICATION_RETENTION_DAYS: '30' } });
    subscribed = await Subscribed.start(app);
  });
  afterAll(async () => {
    await subscribed.stop();
    await app.close();
  });

  test('deletes completed bulk jobs and their items after the retention period, and keeps unfinished jobs', async () => {
    const jobs = new BulkJobs(app, subscribed.operator);
    await refused(subscribed, 2);
    const filter = { subscription_id: subscribed.id };
    const old = await jobs.start('error-queue/resend', { filter });
    await jobs.having(old, { state: 'DONE' });
    const young = await jobs.start('error-queue/resend', { filter });
    await jobs.having(young, { state: 'DONE' });
    await refused(subscribed, 2);
    await subscribed.post('suspend');
    const running = await jobs.start('error-queue/resend', { filter });
    await jobs.having(running, { state: 'RUNNING' });
    await app.given.sql(`UPDATE jobs SET created_datetime = now() - interval '31 days' WHERE id = ANY ($1)`, [
      [old, running],
    ]);
    await app.app.get(JobRetention).run();
    const left = await app.given.sql('SELECT id FROM jobs ORDER BY position');
    expect(left.map(({ id }) => id)).toEqual([young, running]);
    expect(await app.given.sql('SELECT FROM job_items WHERE job_id = $1', [old])).toEqual([]);
    expect(await app.given.sql('SELECT FROM job_parts WHERE job_id = $1', [old])).toEqual([]);
    expect(await app.given.sql('SELECT FROM job_items WHERE job_id = $1', [running])).toHaveLength(2);
  });

  test('a notification that is being replayed is not deleted, even if its retention period has passed', async () => {
    await app.given.sql(
      `UPDATE notifications SET created_datetime = now() - interval '40 days',
         delivered_datetime = now() - interval '40 days' WHERE state = 'DELIVERED'`,
    );
    const [kept] = await app.given.sql(
      `INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger)
       SELECT subscription_id, position, booking_code, event_sequence, 'REPLAY' FROM notifications
       WHERE state = 'DELIVERED' LIMIT 1 RETURNING notification_position AS position`,
    );
    expect(await app.app.get(NotificationRetention).run()).toBe(1);
    const left = await app.given.sql(`SELECT position FROM notifications WHERE state = 'DELIVERED'`);
    expect(left).toEqual([kept]);
  });
});
