import { ExpiringSweep } from '../../src/eligibility/expiring-sweep';
import { ExpirySweep } from '../../src/eligibility/expiry-sweep';
import { RECORD_CHANGES } from '../../src/platform/changes/change.entity';
import { startApp, startPair, type TestApp } from '../support/app';
import { Deliveries, registrationBody } from '../support/deliveries';
import { eventually } from '../support/eventually';
import { dateTime } from '../support/given';
import type { PartnerRequest } from '../support/partner';
import { Subscribed } from '../support/subscribed';

const DAY_MS = 86_400_000;
type Record_ = Record<string, any>;

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());
afterEach(() => subscribed.stop());

const subscribe = async (record_changes: readonly string[] = RECORD_CHANGES, settings: Record_ = {}) =>
  (subscribed = await Subscribed.start(app, { record_changes, ...settings }));

const told = () => subscribed.partner.requests.filter(({ path }) => path === '/changes');
const changesOf = (requests: readonly PartnerRequest[]) => requests.map(({ json }) => json.change as string);
const client = (method: string, path: string, body?: unknown) =>
  app.call(method, `/accounts/${subscribed.scene.account}${path}`, { token: subscribed.scene.token, body });
const pathOf = (record: Record_) => `/candidates/${record['candidate'].candidate_id}/tests/${record['test_code']}`;
const decide = (record: Record_, action: string, body?: unknown) =>
  subscribed.admin('POST', `eligibilities/${record['svc_eligiblity_id']}/${action}`, body);
const rename = (record: Record_, last_name: string) =>
  client('PUT', pathOf(record), {
    test_code: record['test_code'],
    candidate: { candidate_id: record['candidate'].candidate_id, first_name: 'Ada', last_name },
  });
const resultOf = (record: Record_, changes: Record_ = {}) =>
  new Deliveries(app).register(
    subscribed.scene.token,
    registrationBody({ examMetaData: { examCode: record['svc_eligiblity_id'] }, ...changes }),
  );
const count = async (what: string, values: unknown[] = []) =>
  (await app.given.sql(`SELECT count(*) AS n FROM ${what}`, values))[0]['n'] as number;
const expireNow = async (record: Record_) => {
  await app.given.sql(
    `UPDATE eligibilities SET eligibility_end_date = date_trunc('second', now()) - interval '1 second' WHERE svc_eligiblity_id = $1`,
    [record['svc_eligiblity_id']],
  );
  await app.app.get(ExpirySweep, { strict: false }).run();
};

/** Returns the change feed of the account. */
async function feed(): Promise<Record_[]> {
  await app.given.settled();
  return (await client('GET', '/changes?limit=200')).body as Record_[];
}

async function toldOf(record: Record_, n: number): Promise<PartnerRequest[]> {
  const own = () => told().filter(({ json }) => json.svc_eligiblity_id === record['svc_eligiblity_id']);
  await eventually(() => expect(own().length).toBeGreaterThanOrEqual(n), 20_000);
  return own();
}

/** Maps each kind of record change to the requests that make this change to a new record. */
const ACTIONS: Record<(typeof RECORD_CHANGES)[number], (record: Record_) => Promise<unknown>> = {
  CREATED: () => Promise.resolve(),
  UPDATED: (record) => rename(record, 'Byron'),
  APPROVED: (record) => decide(record, 'approve-accommodations'),
  HELD: (record) => decide(record, 'hold', { reason: 'fee unpaid' }),
  RELEASED: async (record) => {
    await decide(record, 'hold', { reason: 'fee unpaid' });
    await decide(record, 'release');
  },
  CANCELLED: (record) => client('DELETE', pathOf(record)),
  EXPIRING: async () => {
    const answer = await subscribed.admin('PUT', `accounts/${subscribed.scene.account}`, { expiring_days: [120] });
    expect(answer.status).toBe(200);
    await app.app.get(ExpiringSweep, { strict: false }).run();
  },
  EXPIRED: expireNow,
  RESULT_REVISED: async (record) => {
    await resultOf(record);
    await resultOf(record, { reviewStatus: 'Suspicious' });
  },
  RESULT_HELD: async (record) => {
    await resultOf(record);
    await decide(record, 'result/hold', { reason: 'under review' });
  },
  RESULT_RELEASED: async (record) => {
    await ACTIONS.RESULT_HELD(record);
    await decide(record, 'result/release', { reason: 'reviewed' });
  },
  RESULT_REVOKED: async (record) => {
    await resultOf(record);
    await decide(record, 'result/revoke', { reason: 'proxy' });
  },
  ERASED: (record) =>
    subscribed.admin(
      'POST',
      `accounts/${subscribed.scene.account}/candidates/${record['candidate'].candidate_id}/erase`,
      { reason: 'asked for' },
    ),
};

describe('a subscription with record_changes', () => {
  it.each(RECORD_CHANGES)(
    'a partner that subscribes only to the record change %s receives only this change, as the entry of the change feed',
    async (change) => {
      await subscribe([change]);
      const { account } = subscribed.scene;
      const special = change === 'APPROVED' ? [await app.given.accommodation(account, true)] : [];
      const record = await app.given.eligibility(subscribed.scene, { candidate: { special_accommodations: special } });
      await ACTIONS[change](record);
      const [request] = await toldOf(record, 1);
      const [entry] = (await feed()).filter((one) => one['change'] === change);
      expect(request.json).toEqual(entry);
      expect(Object.keys(request.json as object)).toEqual(Object.keys(entry));
      expect(request.headers).toMatchObject({
        'content-type': 'application/json',
        'webhook-signature': expect.stringMatching(/^v1,/),
        traceparent: expect.stringMatching(/^00-/),
      });
      expect(changesOf(told())).toEqual([change]);
      const [notification] = await subscribed.notifications(`&change_reason=${change}`);
      expect(notification).toMatchObject({
        id: request.headers['webhook-id'],
        change_reason: change,
        svc_eligiblity_id: record['svc_eligiblity_id'],
        candidate_id: entry['candidate_id'],
        booking_code: null,
        booking_on: null,
        effective_date: entry['at'],
        event_sequence: Number(request.headers['event-sequence']),
      });
    },
  );

  it('numbers the changes of a record, and sends them to the partner in order', async () => {
    await subscribe();
    const record = await app.given.eligibility(subscribed.scene);
    await rename(record, 'Byron');
    await decide(record, 'hold', { reason: 'fee unpaid' });
    await decide(record, 'release');
    await client('DELETE', pathOf(record));
    const requests = await toldOf(record, 5);
    expect(changesOf(requests)).toEqual(['CREATED', 'UPDATED', 'HELD', 'RELEASED', 'CANCELLED']);
    expect(requests.map(({ headers }) => headers['event-sequence'])).toEqual(['1', '2', '3', '4', '5']);
  });

  it('the event-sequence also counts record changes that a subscription does not select', async () => {
    await subscribe(['CREATED', 'CANCELLED']);
    const record = await app.given.eligibility(subscribed.scene);
    await rename(record, 'Byron');
    await client('DELETE', pathOf(record));
    const requests = await toldOf(record, 2);
    expect(requests.map(({ json, headers }) => [json.change, headers['event-sequence']])).toEqual([
      ['CREATED', '1'],
      ['CANCELLED', '3'],
    ]);
  });

  it('a partner that subscribes to record changes also receives booking events, in order within each booking', async () => {
    await subscribe();
    const record = await app.given.eligibility(subscribed.scene);
    const { booking_code } = await app.given.booking(subscribed.scene, record);
    await subscribed.reschedule(booking_code as string);
    await toldOf(record, 1);
    const requests = await subscribed.partner.receivedFor(booking_code as string, 2);
    expect(requests.map(({ path, json, headers }) => [path, json.change_reason, headers['event-sequence']])).toEqual([
      ['/notifications', 'BOOKING_CREATED', '1'],
      ['/notifications', 'BOOKING_RESCHEDULED', '2'],
    ]);
    expect(changesOf(told())).toEqual(['CREATED']);
  });

  it('a partner receives each change of many records once, in order within each record', async () => {
    await subscribe();
    const records = await Promise.all(Array.from({ length: 30 }, () => app.given.eligibility(subscribed.scene)));
    await Promise.all(
      records.map(async (record) => {
        for (const name of ['Byron', 'King', 'Milbanke']) await rename(record, name);
      }),
    );
    for (const record of records) {
      const requests = await toldOf(record, 4);
      expect(requests.map(({ headers }) => headers['event-sequence'])).toEqual(['1', '2', '3', '4']);
    }
    expect(new Set(told().map(({ headers }) => headers['webhook-id'])).size).toBe(120);
  });

  it('a partner receives the record changes that an import causes', async () => {
    await subscribe();
    const { account, token, testCode } = subscribed.scene;
    const rows = Array.from(
      { length: 5 },
      (_, n) => `I-${n},${testCode},Ada,Lovelace,${dateTime(Date.now() + 9 * DAY_MS)}`,
    );
    const answer = await app.call('POST', `/accounts/${account}/eligibility-imports`, {
      token,
      body: ['candidate_id,test_code,first_name,last_name,eligibility_end_date', ...rows].join('\n'),
      headers: { 'content-type': 'text/csv' },
    });
    expect(answer.status).toBe(202);
    await eventually(() => expect(changesOf(told())).toEqual(Array(5).fill('CREATED')), 20_000);
  });
});

describe('a record change that no subscription selects', () => {
  it('stores no event for a record change that no subscription selects; by default, a subscription selects none', async () => {
    subscribed = await Subscribed.start(app);
    expect((await subscribed.subscription())['record_changes']).toEqual([]);
    const record = await app.given.eligibility(subscribed.scene);
    await rename(record, 'Byron');
    await decide(record, 'hold', { reason: 'fee unpaid' });
    await decide(record, 'release');
    await app.given.booking(subscribed.scene, record);
    await subscribed.partner.received(1);
    expect(subscribed.partner.requests.map(({ path }) => path)).toEqual(['/notifications']);
    expect(await count('domain_events WHERE account_code = $1', [subscribed.scene.account])).toBe(1);
    expect(await count('event_streams WHERE stream = $1', [record['svc_eligiblity_id']])).toBe(0);
  });

  it.each([
    ['is not verified', async () => void (await subscribed.patch({ partner_url: 'https://localhost:1' }))],
    ['has been deleted', async () => void (await subscribed.admin('DELETE', `subscriptions/${subscribed.id}`))],
    ['lists no change any more', async () => void (await subscribed.patch({ record_changes: [] }))],
    ['lists null', async () => void (await subscribed.patch({ record_changes: null }))],
  ])('stores a record change only if a subscription may need it (the subscription %s)', async (name, change) => {
    await subscribe();
    await change();
    const record = await app.given.eligibility(subscribed.scene);
    // If an earlier address of the partner was verified, the changes are kept until the new address is verified.
    const kept = name === 'is not verified' ? 1 : 0;
    expect(await count('domain_events WHERE stream = $1', [record['svc_eligiblity_id']])).toBe(kept);
  });

  it('stores no event for a record change when the only subscription was never verified', async () => {
    subscribed = await Subscribed.start(app);
    const { account } = subscribed.scene;
    const body = { account_code: account, partner_url: 'https://localhost:1', record_changes: ['CREATED'] };
    const created = await subscribed.admin('POST', 'subscriptions', body);
    expect(created.body).toMatchObject({ state: 'UNVERIFIED', record_changes: ['CREATED'] });
    const record = await app.given.eligibility(subscribed.scene);
    expect(await count('domain_events WHERE stream = $1', [record['svc_eligiblity_id']])).toBe(0);
  });

  it('sends every record change that occurs after the response to the PATCH that adds its kind to record_changes', async () => {
    subscribed = await Subscribed.start(app);
    for (let round = 0; round < 5; round++) {
      expect((await subscribed.patch({ record_changes: ['CREATED'] })).status).toBe(200);
      await toldOf(await app.given.eligibility(subscribed.scene), 1);
      expect((await subscribed.patch({ record_changes: [] })).status).toBe(200);
      const { svc_eligiblity_id } = await app.given.eligibility(subscribed.scene);
      expect(await count('domain_events WHERE stream = $1', [svc_eligiblity_id])).toBe(0);
    }
  });
});

it('rejects an unknown value in record_changes, and returns the known values in the order of the OpenAPI document', async () => {
  subscribed = await Subscribed.start(app);
  const refused = await subscribed.patch({ record_changes: ['CREATED', 'BOOKING_CREATED'] });
  expect(refused.status).toBe(400);
  expect(refused.body.errors).toEqual([
    expect.objectContaining({ pointer: '/record_changes/1', code: 'change_reason_unknown' }),
  ]);
  const patched = await subscribed.patch({ record_changes: ['ERASED', 'CREATED', 'ERASED'] });
  expect(patched.body.record_changes).toEqual(['CREATED', 'ERASED']);
});

describe('a record change that the partner refuses', () => {
  it('a refused record change waits in the error queue, can be found by its change_reason, and is resent with the same bytes', async () => {
    await subscribe();
    const { partner } = subscribed;
    partner.answer({ status: 400 });
    const record = await app.given.eligibility(subscribed.scene);
    await toldOf(record, 1);
    await eventually(async () => expect(await subscribed.queue('&change_reason=CREATED')).toHaveLength(1));
    expect(await subscribed.queue('&change_reason=CANCELLED')).toEqual([]);
    const bySvc = await subscribed.queue(`&booking_code=${record['svc_eligiblity_id']}`);
    expect(bySvc).toHaveLength(1);
    const [queued] = bySvc;
    expect(queued).toMatchObject({ change_reason: 'CREATED', retry: 'MANUAL', failure: 'client_error' });
    const summary = await subscribed.get('/admin/error-queue/summary');
    expect((summary.body as Record_[]).find((cause) => cause['subscription_id'] === subscribed.id)).toMatchObject({
      count: 1,
      next_booking_on: null,
    });
    partner.answer({ status: 200 });
    const resent = await subscribed.admin('POST', 'error-queue/resend', {
      filter: { subscription_id: subscribed.id, change_reason: 'CREATED' },
      reason: 'mended',
    });
    expect(resent.status).toBe(202);
    const requests = await toldOf(record, 2);
    expect(requests[1].raw.equals(requests[0].raw)).toBe(true);
    expect(requests[1].headers['webhook-id']).toBe(requests[0].headers['webhook-id']);
    await eventually(async () => expect(await subscribed.queue()).toEqual([]));
    const items = await subscribed.get(`/admin/jobs/${resent.body.job_id}/items`);
    expect(items.body).toEqual([
      expect.objectContaining({
        change_reason: 'CREATED',
        booking_code: null,
        svc_eligiblity_id: record['svc_eligiblity_id'],
      }),
    ]);
  });

  it('holds back the later changes of a record while the partner is DOWN, and sends them in order once it has recovered', async () => {
    await subscribe();
    const { partner } = subscribed;
    partner.answer({ status: 500 });
    const record = await app.given.eligibility(subscribed.scene);
    await toldOf(record, 1);
    await rename(record, 'Byron');
    await decide(record, 'hold', { reason: 'fee unpaid' });
    partner.answer({ status: 200 });
    await eventually(async () => expect(await subscribed.queue()).toEqual([]), 20_000);
    const delivered = (await toldOf(record, 4)).slice(-3);
    expect(changesOf(delivered)).toEqual(['CREATED', 'UPDATED', 'HELD']);
  });

  it('a replay can select changes of records by their change_reason', async () => {
    await subscribe();
    const record = await app.given.eligibility(subscribed.scene);
    await rename(record, 'Byron');
    await toldOf(record, 2);
    await eventually(async () => expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(2));
    const replay = await subscribed.admin('POST', 'notifications/replay', {
      subscription_id: subscribed.id,
      filter: { change_reason: 'UPDATED' },
      reason: 'lost',
    });
    expect(replay.status).toBe(202);
    const requests = await toldOf(record, 3);
    expect(changesOf(requests)).toEqual(['CREATED', 'UPDATED', 'UPDATED']);
    expect(requests[2].raw.equals(requests[1].raw)).toBe(true);
  });
});

describe('the erasure of a candidate', () => {
  it('an erasure replaces the id of the candidate in stored changes, and is reported to the partner with the pseudonym', async () => {
    await subscribe();
    const record = await app.given.eligibility(subscribed.scene);
    await rename(record, 'Byron');
    await toldOf(record, 2);
    subscribed.partner.answer({ status: 400, body: record['candidate'].candidate_id });
    await ACTIONS.ERASED(record);
    const requests = await toldOf(record, 4);
    const erased = requests.slice(-2);
    expect(changesOf(erased)).toEqual(['CANCELLED', 'ERASED']);
    for (const { json } of erased) expect(json.candidate_id).toMatch(/^ERASED-/);
    const id = record['candidate'].candidate_id as string;
    for (const table of ['notifications', 'domain_events', 'changes'])
      expect(await count(`${table} t WHERE t::text LIKE '%' || $1::text || '%'`, [id])).toBe(0);
  });

  it('an erasure also removes the id of the candidate from a record change that is being translated at the same time', async () => {
    await subscribe();
    subscribed.partner.answer({ status: 400 });
    const records = await Promise.all(Array.from({ length: 10 }, () => app.given.eligibility(subscribed.scene)));
    await Promise.all(records.map((record) => Promise.all([rename(record, 'Byron'), ACTIONS.ERASED(record)])));
    await eventually(async () => expect(await count(`jobs WHERE kind = 'ERASE' AND state <> 'DONE'`)).toBe(0), 20_000);
    await eventually(async () =>
      expect(
        await count(`domain_events WHERE settled_at IS NULL AND account_code = $1`, [subscribed.scene.account]),
      ).toBe(0),
    );
    for (const record of records)
      expect(
        await count(`notifications WHERE body LIKE '%' || $1::text || '%'`, [record['candidate'].candidate_id]),
      ).toBe(0);
  });
});

describe('record changes in two processes', () => {
  it('the record changes that one process raises are delivered once each by another process, in order within each record', async () => {
    const { api, delivery } = await startPair();
    subscribed = await Subscribed.start(api, { record_changes: RECORD_CHANGES });
    const { scene } = subscribed;
    const record = await api.given.eligibility(scene);
    const path = `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${scene.testCode}`;
    const body = (last_name: string) => ({
      test_code: scene.testCode,
      candidate: { candidate_id: record['candidate'].candidate_id, first_name: 'Ada', last_name },
    });
    for (let n = 0; n < 10; n++) await api.call('PUT', path, { token: scene.token, body: body(`Name${n}`) });
    const requests = await toldOf(record, 11);
    expect(requests.map(({ headers }) => headers['event-sequence'])).toEqual(
      Array.from({ length: 11 }, (_, n) => String(n + 1)),
    );
    await delivery.close();
    await api.close();
  });
});
