import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { refused } from '../support/queued';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '30' } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

describe('a single notification of the error queue', () => {
  test('POST resend sends a notification again byte for byte, and removes it from the error queue', async () => {
    const [row] = await refused(subscribed, 1);
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

  test('sends a notification once when ten simultaneous requests ask for its resend', async () => {
    const [row] = await refused(subscribed, 1);
    subscribed.partner.answer({ status: 200, delayMs: 200 });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => subscribed.admin('POST', `error-queue/${row['id']}/resend`)),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([202, ...Array<number>(9).fill(409)]);
    await pause(600);
    expect(subscribed.partner.requests).toHaveLength(1);
  });

  test('refuses to resend a notification while its automatic retry is running', async () => {
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

  test('returns a notification to the error queue when its resend fails', async () => {
    const [row] = await refused(subscribed, 1);
    subscribed.partner.answer({ status: 403 });
    await subscribed.admin('POST', `error-queue/${row['id']}/resend`);
    await eventually(async () =>
      expect((await subscribed.queue())[0]).toMatchObject({ retry: 'MANUAL', failure: 'auth', http_status: 403 }),
    );
  });

  test('refuses to resend or resolve a notification that an operator has already resolved', async () => {
    const [row] = await refused(subscribed, 1);
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

  test.each(['resend', 'resolve'])('returns 404 for a request to %s an unknown notification', async (action) => {
    for (const id of [randomUUID(), 'nothing'])
      expect((await subscribed.admin('POST', `error-queue/${id}/${action}`, { reason: 'x' })).status).toBe(404);
  });
});
