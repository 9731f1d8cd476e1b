import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { BulkJobs, queueMany, refused } from '../support/queued';
import { Subscribed } from '../support/subscribed';

const SECRETS_KEY = Buffer.alloc(32, 9).toString('base64');

let app: TestApp;
let subscribed: Subscribed;
let jobs: BulkJobs;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '30', SECRETS_KEY } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
  jobs = new BulkJobs(app, subscribed.operator);
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

const mine = () => ({ subscription_id: subscribed.id });
const resend = (body: object = {}) => jobs.start('error-queue/resend', { filter: mine(), ...body });
const sentIds = () => subscribed.partner.requests.map((request) => request.headers['webhook-id']);

test('a bulk resend sends each notification once, oldest first, and reports how many were sent and delivered', async () => {
  const rows = await refused(subscribed, 12);
  const answer = await jobs.call('POST', 'error-queue/resend', { filter: mine(), reason: 'mended' });
  expect(answer.status).toBe(202);
  const { job_id } = answer.body;
  expect(answer.body).toEqual({ job_id, resend_id: job_id, matched: null });
  const done = await jobs.having(job_id, { state: 'DONE' });
  expect(done).toEqual({
    job_id,
    kind: 'RESEND',
    state: 'DONE',
    account_code: subscribed.scene.account,
    subscription_id: subscribed.id,
    subscription_name: null,
    partner_url: subscribed.partner.url,
    filter: { subscription_id: subscribed.id },
    paused_because: null,
    paused_by: null,
    matched: 12,
    waiting: 0,
    sent: 12,
    delivered: 12,
    failed: 0,
    skipped: 0,
    resolved: 0,
    reason: 'mended',
    unmatched_results: null,
    actor: expect.stringMatching(/^user-/),
    created_datetime: expect.any(String),
  });
  expect(sentIds()[0]).toBe(rows[0]['id']);
  expect([...sentIds()].sort()).toEqual(rows.map((row) => row['id']).sort());
  const { body: items } = await jobs.call('GET', `jobs/${job_id}/items`);
  expect(items).toEqual(
    rows.map(({ id, booking_code, candidate_id, candidate_name, change_reason, booking_on, location_timezone }) => ({
      notification_id: id,
      booking_code,
      svc_eligiblity_id: null,
      subscription_id: subscribed.id,
      subscription_name: null,
      partner_url: subscribed.partner.url,
      candidate_id,
      candidate_name,
      change_reason,
      booking_on,
      previous_booking_on: null,
      location_timezone,
      outcome: 'DELIVERED',
    })),
  );
  for (const action of ['pause', 'resume', 'abort'])
    for (const routes of ['jobs', 'error-queue/resends']) {
      const refusal = await jobs.call('POST', `${routes}/${job_id}/${action}`);
      expect([refusal.status, refusal.body.code]).toEqual([409, 'job_finished']);
    }
});

test('the deprecated routes for resends return jobs of every kind', async () => {
  const id = await jobs.start('error-queue/resolve', { filter: mine() });
  const found = await jobs.having(id, { state: 'DONE' });
  expect((await jobs.call('GET', `error-queue/resends/${id}`)).body).toEqual({ ...found, resend_id: id });
  const { body: list } = await jobs.call('GET', 'error-queue/resends?kind=RESOLVE&limit=1');
  expect(list).toEqual([{ ...found, resend_id: id }]);
});

test('a dry run of a bulk resend counts the matches and creates no job', async () => {
  await refused(subscribed, 3);
  const before = (await jobs.call('GET', 'jobs?limit=200')).body.length;
  const answer = await jobs.call('POST', 'error-queue/resend', { filter: mine(), reason: 'x', dry_run: true });
  expect([answer.status, answer.body]).toEqual([200, { job_id: null, resend_id: null, matched: 3 }]);
  expect((await jobs.call('GET', 'jobs?limit=200')).body).toHaveLength(before);
  await pause(400);
  expect(subscribed.partner.requests).toHaveLength(0);
});

test('completes a bulk resend immediately when no notification matches', async () => {
  const id = await resend({ filter: { ...mine(), failure: 'tls' } });
  expect(await jobs.having(id, { state: 'DONE' })).toMatchObject({ matched: 0, waiting: 0, sent: 0 });
});

test('a bulk resend does not send a notification that enters the error queue after the job was created', async () => {
  await refused(subscribed, 1);
  await subscribed.post('suspend');
  const id = await resend();
  await jobs.having(id, { state: 'RUNNING', matched: 1 });
  const paused = await jobs.steer(id, 'pause');
  expect(paused).toMatchObject({ paused_because: 'operator', paused_by: paused['actor'] });
  await subscribed.post('resume');
  subscribed.partner.answer({ status: 400 });
  await subscribed.booking();
  const [, later] = await eventually(async () => {
    const found = await subscribed.queue();
    expect(found).toHaveLength(2);
    return found;
  });
  subscribed.partner.requests.length = 0;
  subscribed.partner.answer({ status: 200 });
  await jobs.steer(id, 'resume');
  expect(await jobs.having(id, { state: 'DONE' })).toMatchObject({ matched: 1, sent: 1, delivered: 1 });
  expect((await subscribed.queue()).map((row) => row['id'])).toEqual([later['id']]);
});

test('a bulk resend first sends a single notification; if this attempt fails, the job is paused and shows the reason', async () => {
  const rows = await refused(subscribed, 5);
  subscribed.partner.answer({ status: 401 });
  const id = await resend();
  const paused = { paused_because: 'auth', paused_by: null, matched: 5, waiting: 4, sent: 1, delivered: 0, failed: 1 };
  expect(await jobs.having(id, { state: 'PAUSED' })).toMatchObject(paused);
  expect(sentIds()).toEqual([rows[0]['id']]);
  subscribed.partner.answer({ status: 200 });
  expect(await jobs.steer(id, 'resume')).toMatchObject({ state: 'RUNNING', paused_because: null, paused_by: null });
  expect(await jobs.having(id, { state: 'DONE' })).toMatchObject({ sent: 5, delivered: 4, failed: 1 });
  expect(await jobs.outcomes(id)).toEqual(['FAILED', ...Array<string>(4).fill('DELIVERED')]);
});

test('a bulk resend is paused even if the partner fails only after the first successes', async () => {
  await refused(subscribed, 200);
  let count = 0;
  subscribed.partner.answer(() => ({ status: ++count <= 3 ? 200 : 401, delayMs: 30 }));
  const id = await resend();
  const { sent, failed, waiting } = await jobs.having(id, { state: 'PAUSED', paused_because: 'auth' });
  expect(sent).toBe(subscribed.partner.requests.length);
  expect([failed, waiting]).toEqual([sent - 3, 200 - sent]);
  expect(waiting).toBeGreaterThan(100);
});

test('a bulk resend counts a notification as failed if the partner answers 4xx, and then sends the next one', async () => {
  const rows = await refused(subscribed, 4);
  subscribed.partner.answer((request) => ({ status: request.headers['webhook-id'] === rows[0]['id'] ? 400 : 200 }));
  const id = await resend();
  expect(await jobs.having(id, { state: 'DONE' })).toMatchObject({ sent: 4, delivered: 3, failed: 1 });
});

test('a 500 during a bulk resend turns the partner DOWN and pauses the job', async () => {
  await refused(subscribed, 3);
  subscribed.partner.answer({ status: 500 });
  const id = await resend();
  await jobs.having(id, { state: 'PAUSED', paused_because: 'server_error', sent: 1, failed: 1 });
  expect((await subscribed.subscription())['health']).toBe('DOWN');
  expect(subscribed.partner.requests).toHaveLength(1);
});

describe('a job with several partners', () => {
  let other: Subscribed;
  /** Puts the same three events into the error queue for both partners. */
  beforeEach(async () => {
    other = await Subscribed.start(app, {}, { scene: subscribed.scene });
    other.partner.answer({ status: 400 });
    await refused(subscribed, 3);
    await eventually(async () => expect(await other.queue()).toHaveLength(3));
    other.partner.answer({ status: 200 });
  });
  afterEach(() => other.stop());
  const pair = () => jobs.start('error-queue/resend', { filter: { account_code: subscribed.scene.account } });

  test.each(['SUSPENDED', 'DOWN'])(
    'while a partner is %s, its part of a job waits without delaying other partners',
    async (condition) => {
      if (condition === 'SUSPENDED') await subscribed.post('suspend');
      else
        await app.given.sql(
          `UPDATE subscriptions SET health = 'DOWN', next_probe_at = now() + interval '1 hour' WHERE id = $1`,
          [subscribed.id],
        );
      const id = await pair();
      await jobs.having(id, { delivered: 3 });
      await pause(500);
      expect(await jobs.get(id)).toMatchObject({ state: 'RUNNING', waiting: 3, sent: 3, failed: 0 });
      expect(subscribed.partner.requests).toHaveLength(0);
      if (condition === 'SUSPENDED') await subscribed.post('resume');
      else
        await app.given.sql(`UPDATE subscriptions SET health = 'UP', next_probe_at = NULL WHERE id = $1`, [
          subscribed.id,
        ]);
      await jobs.having(id, { state: 'DONE', sent: 6, delivered: 6 });
    },
  );

  test('a failing partner pauses only its own part of a job; the job is PAUSED when no part can continue', async () => {
    subscribed.partner.answer({ status: 403 });
    const id = await pair();
    await jobs.having(id, { state: 'PAUSED', paused_because: 'auth', waiting: 2, sent: 4, delivered: 3, failed: 1 });
    subscribed.partner.answer({ status: 200 });
    await jobs.steer(id, 'resume');
    await jobs.having(id, { state: 'DONE', sent: 6, delivered: 5, failed: 1 });
  });

  test('a job skips the notifications of a partner whose subscription was deleted', async () => {
    await subscribed.post('suspend');
    const id = await pair();
    await jobs.having(id, { delivered: 3 });
    expect((await subscribed.admin('DELETE', `subscriptions/${subscribed.id}`)).status).toBe(204);
    await jobs.having(id, { state: 'DONE', sent: 3, skipped: 3 });
  });
});

describe('actions of an operator on a job', () => {
  /** Starts a bulk job for many notifications, which the partner answers slowly. */
  async function slowJob(n = 300): Promise<string> {
    await queueMany(subscribed, n);
    subscribed.partner.answer({ status: 200, delayMs: 150 });
    const id = await resend();
    await eventually(() => expect(subscribed.partner.requests.length).toBeGreaterThan(10));
    return id;
  }
  const before = () => subscribed.queue('&failure=client_error&http_status=400&retry=MANUAL');

  test.each(['pause', 'abort'] as const)(
    'after the action %s, a job starts no further attempt, and its unsent notifications stay unchanged in the error queue',
    async (action) => {
      const id = await slowJob();
      const steered = await jobs.steer(id, action);
      expect(steered['state']).toBe(action === 'pause' ? 'PAUSED' : 'ABORTED');
      const { sent, state } = await eventually(async () => {
        const found = await jobs.get(id);
        expect(found).toMatchObject({ delivered: found['sent'], waiting: 300 - found['sent'] });
        expect(subscribed.partner.requests).toHaveLength(found['sent']);
        return found;
      });
      expect(state).toBe(steered['state']);
      // After the service has answered the request to pause or abort the job, no further attempt begins. Only attempts
      // that were already running may still increase the count `sent`.
      expect(sent - steered['sent']).toBeLessThanOrEqual(16);
      await pause(500);
      expect(subscribed.partner.requests).toHaveLength(sent);
      const [{ count }] = await app.given.sql(
        `SELECT count(*) FROM notifications WHERE subscription_id = $1 AND state = 'ERROR_QUEUE' AND failure = 'client_error'
           AND http_status = 400 AND retry = 'MANUAL' AND reason IS NULL`,
        [subscribed.id],
      );
      expect(count).toBe(300 - sent);
      expect(await app.given.sql('SELECT FROM deliveries WHERE subscription_id = $1', [subscribed.id])).toEqual([]);
      expect((await before()).length).toBeGreaterThan(0);
      if (action === 'abort') return;
      subscribed.partner.answer({ status: 200 });
      await jobs.steer(id, 'resume');
      await jobs.having(id, { state: 'DONE', sent: 300, delivered: 300 });
      expect(new Set(sentIds()).size).toBe(300);
    },
  );

  test('shows the notifications of a job as SENT only when their attempts have begun', async () => {
    await queueMany(subscribed, 40);
    subscribed.partner.answer({ status: 200, delayMs: 700 });
    const id = await resend();
    await subscribed.partner.received(1);
    await pause(200);
    expect(await jobs.get(id)).toMatchObject({ sent: 1, delivered: 0, waiting: 39 });
    await jobs.steer(id, 'abort');
    await jobs.having(id, { state: 'ABORTED', sent: 1, delivered: 1, waiting: 39 });
  });
});

test('a bulk resend skips notifications that were resolved or delivered after the job was created', async () => {
  const rows = await refused(subscribed, 3);
  await subscribed.post('suspend');
  const id = await resend();
  await jobs.having(id, { state: 'RUNNING', matched: 3 });
  await jobs.steer(id, 'pause');
  await subscribed.admin('POST', `error-queue/${rows[0]['id']}/resolve`, { reason: 'by phone' });
  await subscribed.post('resume');
  expect((await subscribed.admin('POST', `error-queue/${rows[1]['id']}/resend`)).status).toBe(202);
  await eventually(async () => expect((await subscribed.notification(rows[1]['id'])).state).toBe('DELIVERED'));
  await jobs.steer(id, 'resume');
  await jobs.having(id, { state: 'DONE', matched: 3, waiting: 0, sent: 1, delivered: 1, failed: 0, skipped: 2 });
  expect(await jobs.outcomes(id)).toEqual(['SKIPPED', 'SKIPPED', 'DELIVERED']);
  expect(sentIds()).toEqual([rows[1]['id'], rows[2]['id']]);
});

test('keeps a notification of a job waiting when its partner is suspended before the request is sent', async () => {
  const [{ id: notification }] = await refused(subscribed, 1);
  const { partner } = subscribed;
  await partner.goDown();
  // The partner accepts TCP connections, but sends nothing. The attempt to send the notification has therefore begun,
  // but the service cannot send the request yet.
  const silent = createServer().listen(Number(new URL(partner.url).port), '127.0.0.1');
  const connected = once(silent, 'connection') as Promise<[Socket]>;
  const id = await resend();
  const [socket] = await connected;
  expect(await jobs.get(id)).toMatchObject({ sent: 1, waiting: 0 });
  expect((await subscribed.post('suspend')).status).toBe(200);
  await jobs.having(id, { state: 'RUNNING', sent: 0, waiting: 1, delivered: 0, failed: 0 });
  expect(await jobs.outcomes(id)).toEqual(['WAITING']);
  socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
  await partner.comeUp();
  await subscribed.admin('POST', `error-queue/${notification}/resolve`, { reason: 'by phone' });
  await subscribed.post('resume');
  await jobs.having(id, { state: 'DONE', sent: 0, waiting: 0, skipped: 1 });
  expect(sentIds()).toEqual([]);
});

test('if a process is killed while it sends the last notification of a job, the job is completed once the notification is resolved', async () => {
  const [{ id: notification }] = await refused(subscribed, 1);
  await subscribed.post('suspend');
  const id = await resend();
  await jobs.having(id, { state: 'RUNNING', matched: 1, waiting: 1 });
  // Simulates the state that a process leaves when it is killed after the start of an attempt.
  await app.given.sql(`UPDATE job_items SET outcome = 'SENT' WHERE job_id = $1`, [id]);
  await app.given.sql('UPDATE job_parts SET sent = 1, waiting = 0 WHERE job_id = $1', [id]);
  await app.given.sql(
    `INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger, job_id, lease_token,
       leased_until)
     SELECT subscription_id, position, booking_code, event_sequence, 'MANUAL', $2, 1, now() - interval '1 second'
     FROM notifications WHERE id = $1`,
    [notification, id],
  );
  await pause(600);
  expect(await jobs.get(id)).toMatchObject({ state: 'RUNNING', sent: 1 });
  await subscribed.admin('POST', `error-queue/${notification}/resolve`, { reason: 'by phone' });
  await jobs.having(id, { state: 'DONE', sent: 0, waiting: 0, failed: 0, skipped: 1 });
});

test('completes a job when the recovered partner receives the job’s notifications by automatic retry', async () => {
  subscribed.partner.answer({ status: 500 });
  await subscribed.booking();
  await eventually(async () => expect((await subscribed.subscription())['health']).toBe('DOWN'));
  for (let i = 0; i < 4; i++) await subscribed.booking();
  await eventually(async () => expect(await subscribed.queue('&retry=AUTO')).toHaveLength(5));
  const id = await resend();
  await jobs.having(id, { state: 'RUNNING', matched: 5, waiting: 5 });
  subscribed.partner.requests.length = 0;
  subscribed.partner.answer({ status: 200 });
  await app.given.sql('UPDATE subscriptions SET next_probe_at = now() WHERE id = $1', [subscribed.id]);
  const { delivered, skipped } = await jobs.having(id, { state: 'DONE', waiting: 0, failed: 0 });
  expect(delivered + skipped).toBe(5);
  expect(skipped).toBeGreaterThan(0);
  expect(new Set(sentIds()).size).toBe(5);
  expect(sentIds()).toHaveLength(5);
});

test('two bulk resend requests with the same Idempotency-Key create one job', async () => {
  await refused(subscribed, 2);
  const key = { 'idempotency-key': randomUUID() };
  const click = () => jobs.call('POST', 'error-queue/resend', { filter: mine(), reason: 'mended' }, key);
  const [first, second] = [await click(), await click()];
  expect(second.body).toEqual(first.body);
  expect(second.headers.get('idempotency-replayed')).toBe('true');
  await jobs.having(first.body.job_id, { state: 'DONE' });
  expect(subscribed.partner.requests).toHaveLength(2);
});

test('a bulk job for a suspended partner sends each notification once, even if a second process starts before the resume', async () => {
  await refused(subscribed, 4);
  await subscribed.post('suspend');
  const id = await resend();
  await jobs.having(id, { state: 'RUNNING' });
  const other = await startApp({ databaseUrl: app.databaseUrl, env: { ROLES: 'delivery', SECRETS_KEY } });
  await subscribed.post('resume');
  await jobs.having(id, { state: 'DONE', sent: 4, delivered: 4 });
  expect(subscribed.partner.requests).toHaveLength(4);
  await other.close();
});

test.each([
  ['error-queue/resend', { filter: undefined }, '/filter', 'required'],
  ['error-queue/resend', { reason: undefined }, '/reason', 'required'],
  ['error-queue/resend', { reason: ' ' }, '/reason', 'blank'],
  ['error-queue/resend', { filter: { failure: 'bad luck' } }, '/filter/failure', 'failure_unknown'],
  ['error-queue/resend', { filter: { state: 'PENDING' } }, '/filter/state', 'unknown_field'],
  ['error-queue/resend', { filter: { account_code: 'NOBODY' } }, '/filter/account_code', 'account_not_found'],
  ['error-queue/resend', { dry_run: 'yes' }, '/dry_run', 'type_invalid'],
  ['error-queue/resolve', { reason: undefined }, '/reason', 'required'],
  ['error-queue/resolve', { filter: { account_code: 'NOBODY' } }, '/filter/account_code', 'account_not_found'],
])('refuses POST %s with the body %j', async (path, body, pointer, code) => {
  const answer = await jobs.call('POST', path, { filter: mine(), reason: 'mended', ...body });
  expect(answer.status).toBe(400);
  expect(answer.body.errors).toEqual([expect.objectContaining({ pointer, code })]);
});

test("pauses a partner's part of a bulk job after ten failures in a row with the same status", async () => {
  await refused(subscribed, 14);
  subscribed.partner.answer({ status: 410 });
  const id = await resend();
  await jobs.having(id, { state: 'PAUSED', paused_because: 'client_error', sent: 10, failed: 10, waiting: 4 });
});
