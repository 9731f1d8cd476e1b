import { startApp, type TestApp } from '../support/app';
import { Deliveries, registrationBody } from '../support/deliveries';
import { eventually } from '../support/eventually';
import { dateTime } from '../support/given';
import { refused } from '../support/queued';
import { Subscribed } from '../support/subscribed';

/** Tests section 9 of the contract: the operators' overview. */
const HOUR_MS = 3_600_000;

let app: TestApp;
let subscribed: Subscribed;
let support: string;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '60' } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
  support = await app.given.token([subscribed.scene.account], ['support']);
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

const overview = async (token = support) => {
  const answer = await app.call('GET', '/admin/overview', { token });
  expect(answer.status).toBe(200);
  return answer.body;
};
/** Waits until the overview has the given members. The service updates its counts about once a second. */
const showing = (members: object, token = support) =>
  eventually(async () => {
    const body = await overview(token);
    expect(body).toMatchObject(members);
    return body;
  }, 10_000);

describe('the overview', () => {
  it('the overview shows no problems for an account that has none', async () => {
    const body = await showing({ partners: { well: 1 } });
    expect(body).toEqual({
      at: expect.any(String),
      undelivered: {
        total: 0,
        oldest_created_datetime: null,
        exam_in: { past: 0, '2h': 0, '24h': 0, '7d': 0, later: 0 },
      },
      partners: { well: 1, down: 0, failing: 0, suspended: 0, unverified: 0, certificate_ends: 0 },
      attention: [],
      hours: expect.any(Array),
      unmatched_results: 0,
      approvals: 0,
      holds: 0,
      jobs: [],
    });
    expect(body.hours).toHaveLength(24);
    expect(body.hours[23].from).toBe(new Date().toISOString().slice(0, 13) + ':00:00Z');
  });

  it('the overview counts undelivered notifications by the time until the exam, and counts the delivery attempts of this hour', async () => {
    subscribed.partner.answer({ status: 400 });
    for (const hours of [1, 20, 21, 24 * 9])
      await subscribed.booking({ booking_on: dateTime(Date.now() + hours * HOUR_MS) });
    await eventually(async () => expect(await subscribed.queue()).toHaveLength(4));
    const body = await showing({
      undelivered: { total: 4, exam_in: { past: 0, '2h': 1, '24h': 2, '7d': 0, later: 1 } },
    });
    const [oldest] = await subscribed.queue();
    expect(body.undelivered.oldest_created_datetime).toBe(oldest['created_datetime']);
    const { failed, delivered } = body.hours.reduce((sum: any, hour: any) => ({
      failed: sum.failed + hour.failed,
      delivered: sum.delivered + hour.delivered,
    }));
    expect([failed, delivered]).toEqual([4, 0]);
  });

  it('the overview shows partners that are DOWN, suspended, unverified or failing while UP, or whose certificate expires soon', async () => {
    await refused(subscribed, 2);
    const failing = await showing({ partners: { well: 0, failing: 1, down: 0 } });
    const { id, scene } = subscribed;
    expect(failing.attention).toEqual([
      {
        subscription_id: id,
        account_code: scene.account,
        subscription_name: null,
        partner_url: subscribed.partner.url,
        state: 'ACTIVE',
        health: 'UP',
        down_since: null,
        next_probe_at: null,
        paused_until: null,
        pace: null,
        failing_since: expect.any(String),
        certificate_not_after: expect.any(String),
        delivery: 'PUSH',
        queued: 2,
      },
    ]);
    // After a successful delivery the partner no longer counts as failing.
    await subscribed.booking();
    await showing({ partners: { well: 1, failing: 0 } });
    await app.given.sql(`UPDATE subscriptions SET certificate_not_after = now() + interval '13 days' WHERE id = $1`, [
      id,
    ]);
    await showing({ partners: { well: 0, certificate_ends: 1 } });
    subscribed.partner.answer({ status: 500 });
    await subscribed.booking();
    const down = await showing({ partners: { down: 1, certificate_ends: 1 } });
    expect(down.attention[0]).toMatchObject({ health: 'DOWN', down_since: expect.any(String), queued: 3 });
    await subscribed.post('suspend');
    await showing({ partners: { down: 0, suspended: 1 } });
    await subscribed.patch({ partner_url: `${subscribed.partner.url}/elsewhere` });
    await showing({ partners: { suspended: 0, unverified: 1 } });
  });

  it('the overview counts unmatched results, approvals and holds, and lists running jobs', async () => {
    const { scene } = subscribed;
    const accommodation = await app.given.accommodation(scene.account, true);
    await app.given.eligibility(scene, { candidate: { special_accommodations: [accommodation] } });
    const held = await app.given.eligibility(scene);
    await subscribed.admin('POST', `eligibilities/${held['svc_eligiblity_id']}/hold`, { reason: 'Identity' });
    await new Deliveries(app).register(scene.token, registrationBody());
    await refused(subscribed, 1);
    await subscribed.post('suspend');
    const filter = { subscription_id: subscribed.id };
    const { body: job } = await subscribed.admin('POST', 'error-queue/resend', { filter, reason: 'mended' });
    const body = await showing({ unmatched_results: 1, approvals: 1, holds: 1, jobs: [{ job_id: job.job_id }] });
    expect(body.jobs[0]).toMatchObject({ kind: 'RESEND', reason: 'mended' });
    await subscribed.admin('POST', `jobs/${job.job_id}/abort`);
    await showing({ jobs: [] });
  });

  it('the overview shows support staff only their own accounts, and shows operators all accounts', async () => {
    await refused(subscribed, 1);
    const elsewhere = await app.given.token([(await app.given.scene()).account], ['support']);
    await showing({ undelivered: { total: 1 } });
    const body = await overview(elsewhere);
    expect(body).toMatchObject({ undelivered: { total: 0 }, attention: [], unmatched_results: 0 });
    expect(body.partners).toEqual({ well: 0, down: 0, failing: 0, suspended: 0, unverified: 0, certificate_ends: 0 });
    expect(body.hours.every((hour: any) => hour.failed === 0)).toBe(true);
    const all = await overview(subscribed.operator);
    expect(all.undelivered.total).toBeGreaterThan(0);
    const answer = await app.call('GET', '/admin/overview', { token: subscribed.scene.token });
    expect(answer.status).toBe(403);
  });

  it('the overview recounts the delivery attempts of the last two hours, and keeps the counts of earlier hours', async () => {
    await app.given.sql(
      `INSERT INTO notification_attempts (notification_position, subscription_id, at, duration_ms, trigger, http_status)
       SELECT 1, $1::uuid, date_trunc('hour', now()) - interval '1 minute', 7, 'FIRST', 200 FROM generate_series(1, 3)`,
      [subscribed.id],
    );
    const body = await eventually(async () => {
      const found = await overview();
      expect(found.hours[22].delivered).toBe(3);
      return found;
    }, 10_000);
    expect(body.hours.slice(0, 22).every((hour: any) => hour.delivered === 0)).toBe(true);
  });
});

describe('the list of partners', () => {
  const list = async (query = '', token = support) => app.call('GET', `/admin/partners${query}`, { token });

  it("the list of partners shows each partner's waiting notifications and its attempts per hour", async () => {
    subscribed.partner.answer({ status: 400, delayMs: 20 });
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
    const { body } = await list();
    expect(body).toEqual([
      expect.objectContaining({
        subscription_id: subscribed.id,
        failing_since: expect.any(String),
        queued: 1,
        hours_from: dateTime(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 23 * HOUR_MS),
      }),
    ]);
    const [{ delivered, failed, p95_ms }] = body;
    for (const hours of [delivered, failed, p95_ms]) expect(hours).toHaveLength(24);
    expect([failed.at(-1), delivered.at(-1), failed[0], p95_ms[0]]).toEqual([1, 0, 0, null]);
    expect(p95_ms.at(-1)).toBeGreaterThanOrEqual(20);
  });

  it('the failing=true filter limits the list of partners to ACTIVE partners that are failing or DOWN', async () => {
    const healthy = await Subscribed.start(app, {}, { scene: subscribed.scene });
    try {
      const failing = async () =>
        (await list('?failing=true&limit=1')).body.map((one: any) => [one.subscription_id, one.health]);
      expect(await failing()).toEqual([]);
      await refused(subscribed, 1);
      expect(await failing()).toEqual([[subscribed.id, 'UP']]);
      expect((await list('?failing=false')).body).toHaveLength(2);
      subscribed.partner.answer({ status: 500 });
      await subscribed.booking();
      await eventually(async () => expect(await failing()).toEqual([[subscribed.id, 'DOWN']]));
      await subscribed.post('suspend');
      expect(await failing()).toEqual([]);
      expect((await list('?failing=yes')).body.errors[0].code).toBe('type_invalid');
    } finally {
      await healthy.stop();
    }
  });

  it("the list of partners returns only partners of the caller's accounts, in pages and without deleted partners", async () => {
    const other = await Subscribed.start(app);
    try {
      const first = await list('?limit=1', subscribed.operator);
      expect(first.body[0].subscription_id).toBe(other.id);
      const next = /<([^>]+)>/.exec(first.headers.get('link')!)![1].slice(app.url.length);
      const second = await app.call('GET', next, { token: subscribed.operator });
      expect(second.body[0].subscription_id).toBe(subscribed.id);
      expect((await list(`?account_code=${other.scene.account}`)).body.code).toBe('account_forbidden');
      await other.admin('DELETE', `subscriptions/${other.id}`);
      expect((await list(`?account_code=${other.scene.account}`, subscribed.operator)).body).toEqual([]);
    } finally {
      await other.stop();
    }
  });
});

describe('the list of imports', () => {
  it("the list of imports contains only imports of the caller's accounts, newest first, and can be filtered by state", async () => {
    const { scene } = subscribed;
    const send = (name: string) =>
      app.call('POST', `/accounts/${scene.account}/eligibility-imports?dry_run=true`, {
        token: scene.token,
        headers: { 'content-type': 'text/csv' },
        body: `candidate_id,first_name,last_name,test_code\n${name},A,B,${scene.testCode}\n`,
      });
    const ids = [(await send('C-1')).body.import_id, (await send('C-2')).body.import_id];
    // The test gives both imports the same time of receipt, so that only the positions of the imports decide their
    // order.
    await app.given.sql('UPDATE eligibility_imports SET received_datetime = $1', [new Date()]);
    const list = (query = '', token = support) => app.call('GET', `/admin/imports${query}`, { token });
    const done = await eventually(async () => {
      const { body } = await list('?state=DONE');
      expect(body).toHaveLength(2);
      return body;
    });
    expect(done.map((row: any) => row.import_id)).toEqual([...ids].reverse());
    expect(done[0]).toMatchObject({
      account_code: scene.account,
      dry_run: true,
      rows: 1,
      username: expect.stringMatching(/^user-/),
      received: expect.any(String),
    });
    const first = await list('?limit=1');
    const next = /<([^>]+)>/.exec(first.headers.get('link')!)![1].slice(app.url.length);
    expect((await app.call('GET', next, { token: support })).body[0].import_id).toBe(ids[0]);
    const elsewhere = await app.given.token([(await app.given.scene()).account], ['support']);
    expect((await list('', elsewhere)).body).toEqual([]);
    expect((await list('?state=NOWHERE')).status).toBe(400);
  });
});
