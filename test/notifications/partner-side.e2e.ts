import { randomUUID } from 'node:crypto';
import { CLIENT_SCOPES } from '../../src/platform/context/caller';
import { startApp, type Answer, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { BulkJobs, queueMany, refused } from '../support/queued';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let mine: Subscribed;
let other: Subscribed;
let token: string;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '0.3' } });
});
beforeEach(async () => {
  mine = await Subscribed.start(app);
  other = await Subscribed.start(app, {}, { scene: mine.scene });
  token = await app.given.token([], ['partner'], [mine.id]);
});
afterEach(async () => {
  await mine.stop();
  await other.stop();
});
afterAll(() => app.close());

const partner = (method: string, path: string, body?: unknown, as = token) =>
  app.call(method, `/partner/${path}`, { token: as, body });
const own = (action: string, as = token) => partner('POST', `subscriptions/${mine.id}/${action}`, undefined, as);
const refusal = ({ status, body }: Answer) => [status, body.code];
const ids = ({ body }: Answer) => (body as { id: string }[]).map(({ id }) => id);
const having = (id: string, members: Record<string, unknown>) =>
  eventually(async () => {
    const { body } = await partner('GET', `jobs/${id}`);
    expect(body).toMatchObject(members);
    return body as Record<string, any>;
  });
const delivered = (count: number) =>
  eventually(async () => {
    const found = await mine.notifications('&state=DELIVERED');
    expect(found).toHaveLength(count);
    return found;
  });

describe('a token with the scope partner', () => {
  it('a token with the `partner` scope is accepted by the routes under /partner and no other route', async () => {
    const { paths } = (await app.call('GET', '/openapi.json')).body as { paths: Record<string, Record<string, any>> };
    const statuses: Record<string, number> = {};
    for (const [path, operations] of Object.entries(paths))
      for (const [method, { security }] of Object.entries(operations)) {
        if (!security?.some((one: object) => 'oauth2' in one)) continue;
        const name = `${method.toUpperCase()} ${path}`;
        // With this body, a poll returns at once. Without it, the poll would wait for a notification and delay the
        // test.
        const body = path.endsWith('/poll') ? { return_immediately: true } : undefined;
        const answer = await app.call(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'nothing'), { token, body });
        if (!path.startsWith('/partner/') || answer.status === 403) statuses[name] = answer.status;
      }
    expect(Object.keys(statuses).length).toBeGreaterThan(50);
    expect(Object.keys(statuses).filter((name) => name.includes('/partner/'))).toEqual([]);
    expect(new Set(Object.values(statuses))).toEqual(new Set([403]));
  });

  it('the routes under /partner refuse the tokens of operators and clients, which lack the `partner` scope', async () => {
    for (const scopes of [['admin'], ['support'], CLIENT_SCOPES] as const) {
      const answer = await partner('GET', 'subscriptions', undefined, await app.given.token([], scopes, [mine.id]));
      expect(refusal(answer)).toEqual([403, 'insufficient_scope']);
      expect(answer.headers.get('www-authenticate')).toContain('scope="partner"');
    }
  });

  it('a token with the `partner` scope becomes invalid when its user loses a subscription', async () => {
    const username = app.given.unique('partner-');
    const user = { username, password: 'seven grey herons wait', account_codes: [], scopes: ['partner'] };
    await mine.admin('POST', 'users', { ...user, subscription_ids: [mine.id, other.id] });
    const [application] = await app.given.sql(
      `SELECT consumer_key FROM applications WHERE scopes = '{partner}' LIMIT 1`,
    );
    const held = await app.given.token([], ['partner']);
    await app.given.sql(
      `UPDATE token_families SET username = $1, consumer_key = $2 WHERE family_id =
         (SELECT family_id FROM token_families ORDER BY granted_at DESC LIMIT 1)`,
      [username, application['consumer_key']],
    );
    expect(ids(await partner('GET', 'subscriptions', undefined, held)).sort()).toEqual([mine.id, other.id].sort());
    await mine.admin('PUT', `users/${username}`, { subscription_ids: [mine.id] });
    expect((await partner('GET', 'subscriptions', undefined, held)).status).toBe(401);
  });
});

describe('GET /partner/subscriptions', () => {
  it('GET /partner/subscriptions lists only the subscriptions of the caller, without secrets', async () => {
    const answer = await partner('GET', 'subscriptions');
    expect(answer.body).toEqual([await mine.subscription()]);
    expect(answer.text).not.toContain('whsec_');
    const both = await app.given.token([], ['partner'], [mine.id, other.id]);
    const first = await partner('GET', 'subscriptions?limit=1', undefined, both);
    expect(ids(first)).toEqual([other.id]);
    expect(first.headers.get('link')).toContain('rel="next"');
    expect((await partner('GET', 'subscriptions', undefined, await app.given.token([], ['partner']))).body).toEqual([]);
  });

  it('GET /partner/subscriptions/{id} includes the warning about a shared address only for a caller with access to both subscriptions', async () => {
    await other.patch({ partner_url: (await mine.subscription())['partner_url'] });
    expect((await mine.subscription())['warnings']).toHaveLength(1);
    expect((await partner('GET', `subscriptions/${mine.id}`)).body.warnings).toEqual([]);
    const both = await app.given.token([], ['partner'], [mine.id, other.id]);
    expect((await partner('GET', `subscriptions/${mine.id}`, undefined, both)).body.warnings).toHaveLength(1);
  });

  it('GET /partner/subscriptions/{id} returns a subscription with its statistics, and 404 for another partner’s subscription', async () => {
    await mine.booking();
    await delivered(1);
    const { status, body } = await partner('GET', `subscriptions/${mine.id}`);
    expect(status).toBe(200);
    expect(body.statistics.hours.at(-1)).toMatchObject({ delivered: 1, failed: {} });
    expect(refusal(await partner('GET', `subscriptions/${other.id}`))).toEqual([404, 'not_found']);
    await mine.admin('DELETE', `subscriptions/${mine.id}`);
    expect(refusal(await partner('GET', `subscriptions/${mine.id}`))).toEqual([404, 'not_found']);
    expect((await partner('GET', 'subscriptions')).body).toEqual([]);
    expect((await partner('GET', 'notifications')).body).toEqual([]);
  });
});

describe('POST /partner/subscriptions/{id}/…', () => {
  it("a partner's POST verify sends a sample to its own address", async () => {
    mine.partner.requests.length = 0;
    expect((await own('verify')).body).toMatchObject({ id: mine.id, state: 'ACTIVE' });
    expect(mine.partner.requests).toHaveLength(1);
    mine.partner.answer({ status: 404, body: 'wrong path' });
    const refused = await own('verify');
    expect(refusal(refused)).toEqual([400, 'verification_failed']);
    expect(refused.body).toMatchObject({ failure: 'client_error', http_status: 404, excerpt: 'wrong path' });
  });

  it('rotate-secret returns a new secret, and notifications are then signed with the old and the new secret', async () => {
    const { body } = await own('rotate-secret');
    expect(body.signing_secret).toMatch(/^whsec_/);
    expect(body.signing_secret).not.toBe(mine.signingSecret);
    await mine.booking();
    const [request] = await mine.partner.received(1);
    expect(request.headers['webhook-signature'].split(' ')).toHaveLength(2);
    const entry = await eventually(async () => {
      const [found] = (await mine.get(`/admin/audit?subject=${mine.id}&action=subscription.rotate-secret`)).body;
      expect(found).toBeDefined();
      return found;
    });
    expect(entry.actor).not.toBe('system');
  });

  it('a partner can suspend its deliveries and resume them', async () => {
    expect((await own('suspend')).body).toMatchObject({ state: 'SUSPENDED', suspended_by: 'PARTNER' });
    await mine.booking();
    expect(await mine.subscription()).toMatchObject({ state: 'SUSPENDED', suspended_by: 'PARTNER' });
    expect((await own('resume')).body).toMatchObject({ state: 'ACTIVE', suspended_by: null });
    await delivered(1);
  });

  it('a partner cannot resume a subscription that an operator suspended, whether or not the partner suspended it too', async () => {
    await mine.post('suspend');
    expect(refusal(await own('resume'))).toEqual([403, 'suspended_by_operator']);
    expect((await own('suspend')).body).toMatchObject({ suspended_by: 'OPERATOR' });
    expect(refusal(await own('resume'))).toEqual([403, 'suspended_by_operator']);
    await mine.post('resume');

    await own('suspend');
    await mine.post('suspend');
    expect(refusal(await own('resume'))).toEqual([403, 'suspended_by_operator']);
    await mine.post('resume');
    expect(await mine.subscription()).toMatchObject({ state: 'ACTIVE', suspended_by: null });

    await own('suspend');
    expect((await mine.post('resume')).body.state).toBe('ACTIVE');
    // A process of release 1.0.0 suspends a subscription without recording who suspended it.
    await app.given.sql(`UPDATE subscriptions SET state = 'SUSPENDED', suspended_datetime = now() WHERE id = $1`, [
      mine.id,
    ]);
    expect(refusal(await own('resume'))).toEqual([403, 'suspended_by_operator']);
  });

  it('a suspension by an operator remains when the partner verifies its new address', async () => {
    await mine.post('suspend');
    expect((await mine.patch({ partner_url: `${mine.partner.url}/new` })).body.state).toBe('UNVERIFIED');
    expect((await own('verify')).body).toMatchObject({ state: 'SUSPENDED', suspended_by: 'OPERATOR' });
    expect(refusal(await own('resume'))).toEqual([403, 'suspended_by_operator']);
    await mine.post('resume');

    await own('suspend');
    await mine.patch({ partner_url: mine.partner.url });
    expect((await own('verify')).body).toMatchObject({ state: 'SUSPENDED', suspended_by: 'PARTNER' });
    expect((await own('resume')).body.state).toBe('ACTIVE');
  });

  it('an operator can resume a subscription that its partner suspended', async () => {
    await own('suspend');
    expect((await mine.post('resume')).body).toMatchObject({ state: 'ACTIVE', suspended_by: null });
  });

  it.each(['verify', 'rotate-secret', 'suspend', 'resume'])(
    'POST %s returns 404 for the subscription of another partner, and changes nothing',
    async (action) => {
      const before = await other.subscription();
      expect(refusal(await partner('POST', `subscriptions/${other.id}/${action}`))).toEqual([404, 'not_found']);
      expect(refusal(await partner('POST', `subscriptions/${randomUUID()}/${action}`))).toEqual([404, 'not_found']);
      expect(await other.subscription()).toEqual(before);
    },
  );
});

describe('GET /partner/notifications', () => {
  it("GET /partner/notifications lists only the caller's notifications, and can filter them, for example by state", async () => {
    const [queued] = await refused(mine, 1);
    const code = await mine.booking();
    const [found] = await delivered(1);
    expect(ids(await partner('GET', 'notifications'))).toEqual([found['id'], queued['id']]);
    expect(ids(await partner('GET', 'notifications?state=ERROR_QUEUE&failure=client_error'))).toEqual([queued['id']]);
    expect(ids(await partner('GET', `notifications?booking_code=${code}`))).toEqual([found['id']]);
    expect(ids(await partner('GET', `notifications?subscription_id=${mine.id}&limit=1`))).toEqual([found['id']]);
    expect(ids(await partner('GET', `notifications?account_code=${mine.scene.account}`))).toHaveLength(2);
    for (const id of [other.id, randomUUID()])
      expect(refusal(await partner('GET', `notifications?subscription_id=${id}`))).toEqual([404, 'not_found']);
    const elsewhere = await app.given.account();
    for (const account of [elsewhere, 'NOWHERE'])
      expect(refusal(await partner('GET', `notifications?account_code=${account}`))).toEqual([
        403,
        'account_forbidden',
      ]);
    const both = `notifications?subscription_id=${other.id}&account_code=NOWHERE`;
    expect(refusal(await partner('GET', both))).toEqual([403, 'account_forbidden']);
    expect(ids(await partner('GET', 'notifications?exam_in=2h'))).toEqual([]);
    expect((await partner('GET', 'notifications?bookingcode=A')).status).toBe(400);
  });

  it('GET /partner/notifications/{id} returns a notification with its body and its attempts', async () => {
    const [queued] = await refused(mine, 1);
    const { body } = await partner('GET', `notifications/${queued['id']}`);
    expect(body).toEqual(await mine.notification(queued['id']));
    expect(body.attempts[0]).toMatchObject({ http_status: 400, excerpt: 'unknown candidate' });
    const [theirs] = await other.notifications();
    expect(refusal(await partner('GET', `notifications/${theirs['id']}`))).toEqual([404, 'not_found']);
  });

  it('a partner can resend its own notifications from the error queue, but not those of another partner', async () => {
    const [queued] = await refused(mine, 1);
    expect((await partner('POST', `notifications/${queued['id']}/resend`)).status).toBe(202);
    await delivered(1);
    expect(refusal(await partner('POST', `notifications/${queued['id']}/resend`))).toEqual([409, 'not_in_error_queue']);
    await queueMany(other, 1);
    const [theirs] = await other.queue();
    expect(refusal(await partner('POST', `notifications/${theirs['id']}/resend`))).toEqual([404, 'not_found']);
    expect((await other.notification(theirs['id']))['state']).toBe('ERROR_QUEUE');
  });
});

describe('POST /partner/notifications/replay', () => {
  const start = async (body: object, as = token): Promise<string> => {
    const answer = await partner('POST', 'notifications/replay', body, as);
    expect([answer.status, answer.body.matched]).toEqual([202, null]);
    return answer.body.job_id;
  };
  const order = (code: string, { partner: { requests } }: Subscribed = mine) =>
    requests.filter(({ json }) => json.booking_code === code).map(({ headers }) => Number(headers['event-sequence']));

  it("a partner's replay sends delivered notifications again, for a period or a booking, in the order of each booking’s events", async () => {
    const code = await mine.booking();
    await mine.reschedule(code);
    await mine.booking();
    await delivered(3);
    mine.partner.requests.length = 0;
    other.partner.requests.length = 0;
    await having(await start({ booking_code: code }), { state: 'DONE', matched: 2, delivered: 2 });
    expect(order(code)).toEqual([1, 2]);
    await having(await start({ from: '2020-01-01T00:00:00Z' }), { state: 'DONE', matched: 3, delivered: 3 });
    await having(await start({ to: '2020-01-01T00:00:00Z' }), { state: 'DONE', matched: 0 });
    expect(other.partner.requests).toEqual([]);
  });

  it("a partner's replay with a list of ids sends delivered notifications again, and resends failed notifications", async () => {
    const queued = await refused(mine, 2);
    const code = await mine.booking();
    await mine.reschedule(code);
    const [first, second] = await delivered(2);
    const theirs = await eventually(async () => {
      const [found] = await other.notifications('&state=DELIVERED');
      expect(found).toBeDefined();
      return found;
    });
    mine.partner.requests.length = 0;
    const named = [second['id'], queued[0]['id'], first['id'], theirs['id'], randomUUID()];
    await having(await start({ ids: named }), { state: 'DONE', matched: 3, delivered: 3, skipped: 0 });
    const sent = mine.partner.requests.map(({ headers }) => headers['webhook-id']);
    expect(sent.toSorted()).toEqual([first['id'], second['id'], queued[0]['id']].sort());
    expect(order(code)).toEqual([1, 2]);
    expect((await mine.notification(queued[0]['id']))['state']).toBe('DELIVERED');
    expect((await mine.notification(queued[1]['id']))['state']).toBe('ERROR_QUEUE');
    const triggers = async (id: string) =>
      (await mine.notification(id))['attempts'].map(({ trigger }: { trigger: string }) => trigger);
    expect(await triggers(queued[0]['id'])).toEqual(['FIRST', 'MANUAL']);
    expect(await triggers(first['id'])).toEqual(['FIRST', 'REPLAY']);
  });

  it('a replay includes all subscriptions of a partner that has several', async () => {
    const both = await app.given.token([], ['partner'], [mine.id, other.id]);
    await mine.booking();
    await delivered(1);
    await eventually(async () => expect(await other.notifications('&state=DELIVERED')).toHaveLength(1));
    const id = await start({ from: '2020-01-01T00:00:00Z' }, both);
    await eventually(async () =>
      expect((await partner('GET', `jobs/${id}`, undefined, both)).body).toMatchObject({ state: 'DONE', delivered: 2 }),
    );
    expect(refusal(await partner('GET', `jobs/${id}`))).toEqual([404, 'not_found']);
  });

  it('a partner can pause, resume and abort the job of its replay', async () => {
    await mine.booking();
    await delivered(1);
    await mine.post('suspend');
    const id = await start({});
    await having(id, { state: 'RUNNING', matched: 1, waiting: 1, actor: expect.stringMatching(/^user-/) });
    expect((await partner('POST', `jobs/${id}/pause`)).body).toMatchObject({ state: 'PAUSED' });
    expect((await partner('POST', `jobs/${id}/resume`)).body).toMatchObject({ state: 'RUNNING' });
    expect((await partner('POST', `jobs/${id}/abort`)).body).toMatchObject({ state: 'ABORTED' });
    expect(refusal(await partner('POST', `jobs/${id}/abort`))).toEqual([409, 'job_finished']);
  });

  it('a partner sees neither the jobs of others nor the name of an operator who paused one of the partner’s jobs', async () => {
    await mine.booking();
    await delivered(1);
    const jobs = new BulkJobs(app, mine.operator);
    const operators = await jobs.start('notifications/replay', { subscription_id: mine.id, filter: {} });
    await mine.post('suspend');
    const id = await start({});
    const neighbour = await app.given.token([], ['partner'], [other.id]);
    for (const [job, as] of [
      [operators, token],
      [id, neighbour],
    ])
      for (const [method, action] of [
        ['GET', ''],
        ['POST', '/pause'],
        ['POST', '/resume'],
        ['POST', '/abort'],
      ])
        expect(refusal(await partner(method, `jobs/${job}${action}`, undefined, as))).toEqual([404, 'not_found']);
    await having(id, { state: 'RUNNING' });
    await jobs.steer(id, 'pause');
    await having(id, { state: 'PAUSED', paused_by: null });
  });

  it('POST /partner/notifications/replay without a body sends all delivered notifications again', async () => {
    await mine.booking();
    await delivered(1);
    const started = await partner('POST', 'notifications/replay');
    expect(started.status).toBe(202);
    await having(started.body.job_id, { state: 'DONE', matched: 1, delivered: 1 });
  });

  it('POST /partner/notifications/replay refuses an invalid body, and a caller without a subscription', async () => {
    for (const body of [{ ids: [] }, { ids: ['x'] }, { ids: Array(1001).fill(randomUUID()) }, { reason: 'x' }])
      expect(refusal(await partner('POST', 'notifications/replay', body))).toEqual([400, 'validation_error']);
    const nobody = await app.given.token([], ['partner']);
    expect(refusal(await partner('POST', 'notifications/replay', {}, nobody))).toEqual([404, 'not_found']);
  });
});
