import { createHmac } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SandboxPartner } from '../../src/sandbox/sandbox-partner';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import type { Scene } from '../support/subscribed';

const SANDBOX = { SANDBOX: 'true', RETRY_SCHEDULE_S: '3600' };

describe('the tools of the sandbox', () => {
  let app: TestApp;
  let operator: string;
  let scene: Scene;

  beforeAll(async () => {
    app = await startApp({ env: SANDBOX });
    operator = await app.given.operator();
  });
  beforeEach(async () => {
    scene = await app.given.scene();
  });
  afterAll(() => app.close());

  const raise = (booking_code: string, change_reason: string) =>
    app.call('POST', '/sandbox/events', { token: operator, body: { booking_code, change_reason } });

  const received = async (query = '') =>
    (await app.call('GET', `/sandbox/received${query}`, { token: operator })).body as Record<string, any>[];

  async function booking(changes: Record<string, unknown> = {}): Promise<string> {
    return (await app.given.booking(scene, await app.given.eligibility(scene, changes)))['booking_code'];
  }

  const own = () => app.app.get(SandboxPartner);

  async function subscribe(
    answering = '',
    settings: object = {},
  ): Promise<{ id: string; secret: string; verified: any }> {
    const { partner_url, ca_pem } = own();
    const made = await app.call('POST', '/admin/subscriptions', {
      token: operator,
      body: { account_code: scene.account, partner_url: partner_url + answering, ca_pem, wait_ms: 1000, ...settings },
    });
    const { id, signing_secret } = made.body;
    const verified = await app.call('POST', `/admin/subscriptions/${id}/verify`, { token: operator });
    return { id, secret: signing_secret, verified };
  }

  const status = async (code: string) =>
    (await app.call('GET', `/accounts/${scene.account}/bookings/${code}`, { token: scene.token })).body.status;

  const reasons = async (code: string) =>
    (await app.call('GET', `/admin/notifications?booking_code=${code}`, { token: operator })).body
      .map((row: any) => row.change_reason)
      .reverse();

  it("the sandbox's tools raise every event of a booking that its state allows", async () => {
    await subscribe();
    const moved = await booking();
    expect((await raise(moved, 'BOOKING_RESCHEDULED')).status).toBe(202);
    expect((await raise(moved, 'BOOKING_CANCELLED')).body).toEqual({
      booking_code: moved,
      change_reason: 'BOOKING_CANCELLED',
    });
    expect(await status(moved)).toBe('CANCELLED');
    const [excused, absent, completed] = [await booking(), await booking(), await booking()];
    expect((await raise(excused, 'EXCUSED_ABSENT')).status).toBe(202);
    expect((await raise(absent, 'ABSENT')).status).toBe(202);
    expect((await raise(completed, 'EXAM_COMPLETED')).status).toBe(202);
    expect(await Promise.all([excused, absent, completed].map(status))).toEqual([
      'EXCUSED_ABSENT',
      'ABSENT',
      'COMPLETED',
    ]);
    await eventually(async () => {
      expect(await reasons(moved)).toEqual(['BOOKING_CREATED', 'BOOKING_RESCHEDULED', 'BOOKING_CANCELLED']);
      expect(await reasons(completed)).toEqual(['BOOKING_CREATED', 'EXAM_COMPLETED']);
    });
  });

  it("the sandbox's tools complete an exam with a result that clients can read, and a later result from a test driver is a further revision", async () => {
    const code = await booking();
    expect((await raise(code, 'EXAM_COMPLETED')).status).toBe(202);
    const { candidate_id, test_code } = (
      await app.call('GET', `/accounts/${scene.account}/bookings/${code}`, { token: scene.token })
    ).body;
    const results = async () =>
      (
        await app.call('GET', `/accounts/${scene.account}/candidates/${candidate_id}/tests/${test_code}/results`, {
          token: scene.token,
        })
      ).body;
    expect(await results()).toMatchObject([
      {
        source: 'REGISTRATION',
        revision: 1,
        body: { examMetaData: { examCode: code }, examProcessingStatus: 'Completed' },
      },
    ]);
    const delivered = await app.call('POST', '/registrations/registration/results', {
      token: scene.token,
      body: { examMetaData: { examCode: code }, overAllComments: 'No incident.' },
    });
    expect(delivered.status).toBe(200);
    expect(await results()).toMatchObject([{ revision: 2 }, { revision: 1 }]);
    await app.given.settled();
    const feed = await app.call('GET', `/accounts/${scene.account}/changes?kind=RESULT`, { token: scene.token });
    expect(
      feed.body
        .filter((entry: any) => entry.booking_code === code)
        .map(({ change, revision }: any) => [change, revision]),
    ).toEqual([
      ['RESULT_RECEIVED', 1],
      ['RESULT_REVISED', 2],
    ]);
    expect((await raise(code, 'EXAM_COMPLETED')).status).toBe(409);
  });

  it("the sandbox's tools raise BOOKING_RESCHEDULED even if the window of the record contains no other time for the booking", async () => {
    const end = new Date(Date.now() + 7 * 86_400_000 + 60_000).toISOString().slice(0, 19) + 'Z';
    const code = await booking({ eligibility_end_date: end });
    expect((await raise(code, 'BOOKING_RESCHEDULED')).status).toBe(202);
  });

  it("the sandbox's tools refuse events that the state of the booking does not allow", async () => {
    const code = await booking();
    const refusal = async (reason: string, of = code) => {
      const answer = await raise(of, reason);
      return [answer.status, answer.body.code];
    };
    expect(await refusal('BOOKING_CREATED')).toEqual([409, 'event_not_possible']);
    await raise(code, 'BOOKING_CANCELLED');
    for (const reason of ['BOOKING_RESCHEDULED', 'BOOKING_CANCELLED', 'ABSENT', 'EXCUSED_ABSENT', 'EXAM_COMPLETED'])
      expect(await refusal(reason)).toEqual([409, 'event_not_possible']);
    expect(await refusal('ABSENT', 'ZZZZZZZZZZ')).toEqual([404, 'booking_not_found']);
    expect(await refusal('RAIN')).toEqual([400, 'validation_error']);
    const client = await app.call('POST', '/sandbox/events', {
      token: scene.token,
      body: { booking_code: code, change_reason: 'ABSENT' },
    });
    expect(client.status).toBe(403);
  });

  it('the sandbox provides a partner that receives notifications and shows them', async () => {
    const { secret, verified } = await subscribe();
    expect(verified.body.state).toBe('ACTIVE');
    const code = await booking();
    const [request] = await eventually(async () => {
      const requests = await received(`?booking_code=${code}`);
      expect(requests).toHaveLength(1);
      return requests;
    });
    expect(request).toMatchObject({ method: 'PUT', path: '/notifications' });
    expect(JSON.parse(request['body'])).toMatchObject({ booking_code: code, change_reason: 'BOOKING_CREATED' });
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request['headers'];
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    expect(signature).toBe(`v1,${createHmac('sha256', key).update(`${id}.${at}.${request['body']}`).digest('base64')}`);
    await raise(code, 'BOOKING_CANCELLED');
    await eventually(async () => {
      const told = (await received(`?booking_code=${code}`)).map(({ body }) => JSON.parse(body).change_reason);
      expect(told).toEqual(['BOOKING_CANCELLED', 'BOOKING_CREATED']);
    });
    expect((await received('?booking_code=ZZZZZZZZZZ')).length).toBe(0);
    expect((await app.call('GET', '/sandbox/received', { token: scene.token })).status).toBe(403);
  });

  it("the sandbox's partner deletes the notifications of an erased candidate", async () => {
    await subscribe();
    const eligibility = await app.given.eligibility(scene);
    const { booking_code } = await app.given.booking(scene, eligibility);
    await raise(booking_code, 'BOOKING_CANCELLED');
    await eventually(async () => expect(await received(`?booking_code=${booking_code}`)).toHaveLength(2));
    const candidate = `/admin/accounts/${scene.account}/candidates/${eligibility['candidate'].candidate_id}`;
    const exported = await app.call('GET', `${candidate}/export`, { token: operator });
    expect(exported.text).toContain('/notifications');
    await app.call('POST', `${candidate}/erase`, { token: operator, body: { reason: 'Asked for.' } });
    await eventually(async () => expect(await received(`?booking_code=${booking_code}`)).toEqual([]));
  });

  it("an export of a candidate contains the record changes sent to the sandbox's partner, and an erasure deletes them", async () => {
    await subscribe('', { record_changes: ['CREATED'] });
    const { candidate, svc_eligiblity_id: svcId } = await app.given.eligibility(scene);
    const told = async () => (await received()).filter(({ body }) => body.includes(candidate.candidate_id));
    await eventually(async () => expect(await told()).toMatchObject([{ path: '/changes' }]));
    const path = `/admin/accounts/${scene.account}/candidates/${candidate.candidate_id}`;
    const exported = await app.call('GET', `${path}/export`, { token: operator });
    expect(exported.body.sandbox_received).toMatchObject([{ method: 'PUT', path: '/changes' }]);
    expect(exported.body.sandbox_received[0].body).toContain(svcId);
    await app.call('POST', `${path}/erase`, { token: operator, body: { reason: 'Asked for.' } });
    await eventually(async () => expect(await told()).toEqual([]));
    const kept = await app.given.sql(`SELECT FROM sandbox.received WHERE strpos(body, $1) > 0`, [
      candidate.candidate_id,
    ]);
    expect(kept).toEqual([]);
  });

  it('the sandbox provides a partner whose responses depend on the path of its address', async () => {
    const ofAddress = async (answering: string) => {
      const { verified } = await subscribe(answering);
      return [verified.status, verified.body.failure ?? verified.body.state, verified.body.http_status ?? null];
    };
    expect(await ofAddress('/200')).toEqual([200, 'ACTIVE', null]);
    expect(await ofAddress('/400')).toEqual([400, 'client_error', 400]);
    expect(await ofAddress('/500')).toEqual([400, 'server_error', 500]);
    expect(await ofAddress('/slow')).toEqual([400, 'timeout', null]);
    expect((await ofAddress('/close'))[1]).toMatch(/^(protocol|connect)$/);
    expect((await received())[0]['path']).toBe('/close/notifications');
  });

  it("the sandbox's partner lists the last hundred requests", async () => {
    await app.given.sql(
      `INSERT INTO sandbox.received SELECT n % 1000, n, now(), 'PUT', '/', '{}', n::text, NULL FROM generate_series(100000, 100200) n
       ON CONFLICT (slot) DO UPDATE SET number = excluded.number, body = excluded.body`,
    );
    const bodies = (await received()).map(({ body }) => Number(body));
    expect(bodies).toEqual(Array.from({ length: 100 }, (_, index) => 100_200 - index));
  });

  it("the sandbox's partner has the same address and certificate in a second process with the same DATA_DIR", async () => {
    const { partner_url, ca_pem } = own();
    const file = join(app.config.process.dataDir, 'sandbox-partner.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ cert: ca_pem });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    // The second process of the sandbox starts while the first process uses the port of the partner.
    const beside = await startApp({
      env: { ...SANDBOX, DATA_DIR: app.config.process.dataDir },
      databaseUrl: app.databaseUrl,
    });
    try {
      expect(beside.app.get(SandboxPartner)).toMatchObject({ partner_url, ca_pem });
    } finally {
      await beside.close();
    }
  });
});
