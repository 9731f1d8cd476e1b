import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from './support/app';
import { eventually } from './support/eventually';
import { Subscribed } from './support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '30' } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app, { wait_ms: 2000 });
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

/** So many bookings whose events the partner refuses with 400. */
async function refused(n: number): Promise<Record<string, any>[]> {
  subscribed.partner.answer({ status: 400, body: 'unknown candidate' });
  for (let i = 0; i < n; i++) await subscribed.booking();
  const rows = await eventually(async () => {
    const found = await subscribed.queue();
    expect(found).toHaveLength(n);
    return found;
  });
  subscribed.partner.requests.length = 0;
  subscribed.partner.answer({ status: 200 });
  return rows;
}

const mine = () => ({ subscription_id: subscribed.id });

async function bulk(body: object = {}, headers?: Record<string, string>) {
  return subscribed.admin('POST', 'error-queue/resend', { filter: mine(), reason: 'mended', ...body }, headers);
}

async function job(id: string) {
  return (await subscribed.admin('GET', `error-queue/resends/${id}`)).body;
}

async function jobIn(id: string, state: string) {
  return eventually(async () => {
    const found = await job(id);
    expect(found.state).toBe(state);
    return found;
  });
}

describe('one', () => {
  test('is sent again, byte for byte, and leaves the queue', async () => {
    const [row] = await refused(1);
    const before = await subscribed.notification(row['id']);
    const answer = await subscribed.admin('POST', `error-queue/${row['id']}/resend`, { reason: 'they have it now' });
    expect(answer.status).toBe(202);
    const [request] = await subscribed.partner.received(1);
    expect(request.json).toEqual(before['body']);
    expect(request.headers['webhook-id']).toBe(row['id']);
    await eventually(async () => {
      const after = await subscribed.notification(row['id']);
      expect(after).toMatchObject({ state: 'DELIVERED', retry: null, failure: null, http_status: 200 });
      expect(after['attempts'].map((attempt: any) => [attempt.trigger, attempt.http_status])).toEqual([
        ['FIRST', 400],
        ['MANUAL', 200],
      ]);
    });
    const again = await subscribed.admin('POST', `error-queue/${row['id']}/resend`);
    expect([again.status, again.body.code]).toEqual([409, 'not_in_error_queue']);
  });

  test('ten at the same moment send it once', async () => {
    const [row] = await refused(1);
    subscribed.partner.answer({ status: 200, delayMs: 200 });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => subscribed.admin('POST', `error-queue/${row['id']}/resend`)),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([202, ...Array<number>(9).fill(409)]);
    await pause(600);
    expect(subscribed.partner.requests).toHaveLength(1);
  });

  test('is refused while an automatic retry is under way', async () => {
    subscribed.partner.answer({ status: 500 });
    await subscribed.booking();
    const [row] = await eventually(async () => {
      const rows = await subscribed.queue();
      expect(rows).toHaveLength(1);
      return rows;
    });
    subscribed.partner.answer({ status: 200, delayMs: 500 });
    await app.given.sql('UPDATE subscriptions SET next_probe_at = now() WHERE id = $1', [subscribed.id]);
    await subscribed.partner.received(2);
    const answer = await subscribed.admin('POST', `error-queue/${row['id']}/resend`);
    expect([answer.status, answer.body.code]).toEqual([409, 'not_in_error_queue']);
    await eventually(async () => expect(await subscribed.queue()).toHaveLength(0));
    expect(subscribed.partner.requests).toHaveLength(2);
  });

  test('that fails comes back to the queue', async () => {
    const [row] = await refused(1);
    subscribed.partner.answer({ status: 403 });
    await subscribed.admin('POST', `error-queue/${row['id']}/resend`);
    await eventually(async () =>
      expect((await subscribed.queue())[0]).toMatchObject({ retry: 'MANUAL', failure: 'auth', http_status: 403 }),
    );
  });

  test('can be settled outside, and is never sent again', async () => {
    const [row] = await refused(1);
    const missing = await subscribed.admin('POST', `error-queue/${row['id']}/resolve`, {});
    expect(missing.body.errors).toEqual([expect.objectContaining({ pointer: '/reason', code: 'required' })]);
    const resolved = await subscribed.admin('POST', `error-queue/${row['id']}/resolve`, { reason: 'told by phone' });
    expect([resolved.status, resolved.body.state]).toEqual([200, 'RESOLVED']);
    for (const action of ['resend', 'resolve']) {
      const answer = await subscribed.admin('POST', `error-queue/${row['id']}/${action}`, { reason: 'again' });
      expect([answer.status, answer.body.code]).toEqual([409, 'not_in_error_queue']);
    }
    expect(await subscribed.queue()).toEqual([]);
    const audit = await subscribed.admin('GET', `audit?subject=${row['id']}`);
    expect(audit.body.map((entry: any) => entry.action)).toEqual(['notification.resolve']);
  });

  test.each(['resend', 'resolve'])('that does not exist: %s is 404', async (action) => {
    for (const id of [randomUUID(), 'nothing'])
      expect((await subscribed.admin('POST', `error-queue/${id}/${action}`, { reason: 'x' })).status).toBe(404);
  });
});

describe('many', () => {
  test('go oldest first, each once, and are counted', async () => {
    const rows = await refused(12);
    const answer = await bulk();
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual({ resend_id: expect.any(String), matched: 12 });
    const done = await jobIn(answer.body.resend_id, 'DONE');
    expect(done).toEqual({
      resend_id: answer.body.resend_id,
      state: 'DONE',
      matched: 12,
      sent: 12,
      delivered: 12,
      failed: 0,
      reason: 'mended',
      actor: expect.stringMatching(/^user-/),
      created_datetime: expect.any(String),
    });
    const ids = subscribed.partner.requests.map((request) => request.headers['webhook-id']);
    expect(ids[0]).toBe(rows[0]['id']);
    expect([...ids].sort()).toEqual(rows.map((row) => row['id']).sort());
    for (const action of ['pause', 'resume', 'abort']) {
      const refusal = await subscribed.admin('POST', `error-queue/resends/${answer.body.resend_id}/${action}`);
      expect([refusal.status, refusal.body.code]).toEqual([409, 'resend_finished']);
    }
  });

  test('a dry run counts and makes nothing', async () => {
    await refused(3);
    const answer = await bulk({ dry_run: true });
    expect([answer.status, answer.body]).toEqual([200, { resend_id: null, matched: 3 }]);
    await pause(500);
    expect(subscribed.partner.requests).toHaveLength(0);
    expect(await subscribed.queue()).toHaveLength(3);
  });

  test('nothing matched is done at once', async () => {
    const answer = await bulk({ filter: { ...mine(), failure: 'tls' } });
    expect(answer.body.matched).toBe(0);
    expect(await job(answer.body.resend_id)).toMatchObject({ state: 'DONE', matched: 0, sent: 0 });
  });

  test('the set is frozen: what comes into the queue later is not sent', async () => {
    await refused(1);
    await subscribed.post('suspend');
    const answer = await bulk();
    await jobIn(answer.body.resend_id, 'PAUSED');
    await subscribed.post('resume');
    const [, later] = await refusedMore();
    subscribed.partner.requests.length = 0;
    subscribed.partner.answer({ status: 200 });
    await subscribed.admin('POST', `error-queue/resends/${answer.body.resend_id}/resume`);
    expect(await jobIn(answer.body.resend_id, 'DONE')).toMatchObject({ matched: 1, sent: 1, delivered: 1 });
    expect((await subscribed.queue()).map((row) => row['id'])).toEqual([later['id']]);
  });

  test('one event tries the partner first; a failure of the partner pauses the job', async () => {
    const rows = await refused(5);
    subscribed.partner.answer({ status: 401 });
    const { body } = await bulk();
    expect(await jobIn(body.resend_id, 'PAUSED')).toMatchObject({ matched: 5, sent: 1, delivered: 0, failed: 1 });
    expect(subscribed.partner.requests.map((request) => request.headers['webhook-id'])).toEqual([rows[0]['id']]);
    subscribed.partner.answer({ status: 200 });
    await subscribed.admin('POST', `error-queue/resends/${body.resend_id}/resume`);
    expect(await jobIn(body.resend_id, 'DONE')).toMatchObject({ sent: 5, delivered: 4, failed: 1 });
  });

  test('a client error only counts as failed, and the next event is tried', async () => {
    const rows = await refused(4);
    subscribed.partner.answer((request) => ({ status: request.headers['webhook-id'] === rows[0]['id'] ? 400 : 200 }));
    const { body } = await bulk();
    expect(await jobIn(body.resend_id, 'DONE')).toMatchObject({ sent: 4, delivered: 3, failed: 1 });
  });

  test('a 500 turns the partner DOWN and pauses the job', async () => {
    await refused(3);
    subscribed.partner.answer({ status: 500 });
    const { body } = await bulk();
    expect(await jobIn(body.resend_id, 'PAUSED')).toMatchObject({ sent: 1, failed: 1 });
    expect((await subscribed.subscription())['health']).toBe('DOWN');
  });

  test('a job can be paused and aborted; what was not sent stays in the queue', async () => {
    await refused(3);
    subscribed.partner.answer({ status: 200, delayMs: 700 });
    const { body } = await bulk();
    await subscribed.partner.received(1);
    const paused = await subscribed.admin('POST', `error-queue/resends/${body.resend_id}/pause`);
    expect([paused.status, paused.body.state]).toEqual([200, 'PAUSED']);
    const aborted = await subscribed.admin('POST', `error-queue/resends/${body.resend_id}/abort`);
    expect([aborted.status, aborted.body.state]).toEqual([200, 'ABORTED']);
    await eventually(async () =>
      expect(await job(body.resend_id)).toMatchObject({ state: 'ABORTED', sent: 1, delivered: 1 }),
    );
    expect(await subscribed.queue()).toHaveLength(2);
    expect(subscribed.partner.requests).toHaveLength(1);
  });

  test('what was settled in the meantime is not sent', async () => {
    const rows = await refused(2);
    await subscribed.post('suspend');
    const { body } = await bulk();
    await jobIn(body.resend_id, 'PAUSED');
    await subscribed.admin('POST', `error-queue/${rows[0]['id']}/resolve`, { reason: 'by phone' });
    await subscribed.post('resume');
    await subscribed.admin('POST', `error-queue/resends/${body.resend_id}/resume`);
    expect(await jobIn(body.resend_id, 'DONE')).toMatchObject({ matched: 2, sent: 1, delivered: 1, failed: 0 });
    expect(subscribed.partner.requests.map((request) => request.headers['webhook-id'])).toEqual([rows[1]['id']]);
  });

  test('a double click makes one job', async () => {
    await refused(2);
    const key = { 'idempotency-key': randomUUID() };
    const [first, second] = [await bulk({}, key), await bulk({}, key)];
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    await jobIn(first.body.resend_id, 'DONE');
    expect(subscribed.partner.requests).toHaveLength(2);
  });

  test('goes on after a restart where it was', async () => {
    await refused(4);
    await subscribed.post('suspend');
    const { body } = await bulk();
    await jobIn(body.resend_id, 'PAUSED');
    await subscribed.post('resume');
    const other = await startApp({
      databaseUrl: app.databaseUrl,
      env: { ROLES: 'delivery', SECRETS_KEY: app.config.secretsKeys[0].toString('base64') },
    });
    await subscribed.admin('POST', `error-queue/resends/${body.resend_id}/resume`);
    expect(await jobIn(body.resend_id, 'DONE')).toMatchObject({ sent: 4, delivered: 4 });
    expect(subscribed.partner.requests).toHaveLength(4);
    await other.close();
  });

  test.each([
    [{ filter: undefined }, '/filter', 'required'],
    [{ reason: undefined }, '/reason', 'required'],
    [{ reason: ' ' }, '/reason', 'blank'],
    [{ filter: { failure: 'bad luck' } }, '/filter/failure', 'failure_unknown'],
    [{ filter: { state: 'PENDING' } }, '/filter/state', 'unknown_field'],
    [{ filter: { account_code: 'NOBODY' } }, '/filter/account_code', 'account_not_found'],
    [{ dry_run: 'yes' }, '/dry_run', 'type_invalid'],
  ])('%j is refused', async (body, pointer, code) => {
    const answer = await bulk(body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toEqual([expect.objectContaining({ pointer, code })]);
  });
});

async function refusedMore(): Promise<Record<string, any>[]> {
  subscribed.partner.answer({ status: 400 });
  await subscribed.booking();
  return eventually(async () => {
    const found = await subscribed.queue();
    expect(found).toHaveLength(2);
    return found;
  });
}
