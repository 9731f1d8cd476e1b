import { randomBytes } from 'node:crypto';
import { ExpiringSweep } from '../../src/eligibility/expiring-sweep';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { dateTime } from '../support/given';
import { Subscribed } from '../support/subscribed';

const DAY_S = 86_400;
const DAY_MS = DAY_S * 1000;
const SANDBOX = { SANDBOX: 'true', SECRETS_KEY: randomBytes(32).toString('base64') };

type Entry = Record<string, any>;
type Scene = Awaited<ReturnType<TestApp['given']['scene']>>;

let one: TestApp;
let two: TestApp;
let operator: string;

// Two processes share the database. Every test therefore also shows that the two processes do not both add the same
// EXPIRING entry.
beforeAll(async () => {
  one = await startApp({ env: SANDBOX });
  two = await startApp({ env: SANDBOX, databaseUrl: one.databaseUrl });
});
afterAll(async () => {
  await two.close();
  await one.close();
});
beforeEach(async () => {
  operator = await one.given.operator();
});

const now = async () => Date.parse((await one.call('GET', '/sandbox/clock', { token: operator })).body.now as string);
const sweep = () => Promise.all([one, two].map((process) => process.app.get(ExpiringSweep, { strict: false }).run()));

async function advance(days: number): Promise<void> {
  const answer = await one.call('POST', '/sandbox/clock', { token: operator, body: { advance_s: days * DAY_S } });
  if (answer.status !== 200) throw new Error(answer.text);
  operator = await one.given.operator();
}

async function scene(expiring_days: number[]): Promise<Scene> {
  const made = await one.given.scene();
  const path = `/admin/accounts/${made.account}`;
  const answer = await one.call('PUT', path, { token: operator, body: { expiring_days } });
  expect(answer.body.expiring_days).toEqual(expiring_days);
  return made;
}

const recordIn = async (of: Scene, days: number, changes: object = {}) =>
  one.given.eligibility(of, { eligibility_end_date: dateTime((await now()) + days * DAY_MS), ...changes });

/** Returns the entries in the account's change feed whose `change` is EXPIRING. */
async function announced(of: Scene): Promise<Entry[]> {
  await sweep();
  await one.given.settled();
  const token = await one.given.token([of.account]);
  const { body } = await one.call('GET', `/accounts/${of.account}/changes?limit=200`, { token });
  return (body as Entry[]).filter(({ change }) => change === 'EXPIRING');
}

async function endAt(of: Scene, record: Entry, days: number): Promise<void> {
  const { candidate_id, first_name, last_name } = record['candidate'] as Entry;
  const answer = await one.call('PUT', `/accounts/${of.account}/candidates/${candidate_id}/tests/${of.testCode}`, {
    token: await one.given.token([of.account]),
    body: {
      test_code: of.testCode,
      eligibility_end_date: dateTime((await now()) + days * DAY_MS),
      candidate: { candidate_id, first_name, last_name },
    },
  });
  expect(answer.status).toBe(204);
}

describe('EXPIRING', () => {
  it('the change feed has the EXPIRING change once for each number in expiring_days, when that many days are left', async () => {
    const of = await scene([14, 3]);
    const record = await recordIn(of, 20);
    expect(await announced(of)).toEqual([]);
    await advance(7);
    const [first, ...others] = await announced(of);
    expect(others).toEqual([]);
    const end = Date.parse(record['eligibility_end_date'] as string);
    expect(first).toMatchObject({
      kind: 'ELIGIBILITY',
      at: dateTime(end - 14 * DAY_MS),
      svc_eligiblity_id: record['svc_eligiblity_id'],
      status: 'ELIGIBLE',
      booking_code: null,
      notification: null,
    });
    await advance(5);
    expect(await announced(of)).toEqual([first]);
    await advance(6);
    expect((await announced(of)).map(({ at }) => at)).toEqual([
      dateTime(end - 14 * DAY_MS),
      dateTime(end - 3 * DAY_MS),
    ]);
    await advance(5);
    expect(await announced(of)).toHaveLength(2);
    expect(await one.given.sql('SELECT * FROM expiry_notices WHERE account_code = $1', [of.account])).toEqual([]);
  });

  it('the EXPIRING change occurs for PENDING records, but not for records that are booked, cancelled or without an end date', async () => {
    const of = await scene([30]);
    const held = await recordIn(of, 10);
    const path = `/admin/eligibilities/${held['svc_eligiblity_id']}/hold`;
    expect((await one.call('POST', path, { token: operator, body: { reason: 'fee' } })).status).toBe(204);
    await one.given.booking(of, await recordIn(of, 40), { booking_on: dateTime((await now()) + DAY_MS) });
    const cancelled = await recordIn(of, 10);
    await one.call(
      'DELETE',
      `/accounts/${of.account}/candidates/${cancelled['candidate'].candidate_id}/tests/${of.testCode}`,
      { token: of.token },
    );
    await one.given.eligibility(of, { eligibility_end_date: null });
    const entries = await announced(of);
    expect(entries.map(({ svc_eligiblity_id: id, status }) => [id, status])).toEqual([
      [held['svc_eligiblity_id'], 'PENDING'],
    ]);
  });

  it('when the end date of a record changes, the EXPIRING change occurs again before the new date', async () => {
    const of = await scene([5]);
    const record = await recordIn(of, 4);
    expect(await announced(of)).toHaveLength(1);
    await endAt(of, record, 50);
    expect(await announced(of)).toHaveLength(1);
    await advance(46);
    expect(await announced(of)).toHaveLength(2);
    await endAt(of, record, 2);
    expect(await announced(of)).toHaveLength(3);
  });

  it('the EXPIRING change occurs only in accounts with expiring_days, and stops when expiring_days is cleared', async () => {
    const without = await one.given.scene();
    await recordIn(without, 2);
    expect(await announced(without)).toEqual([]);
    const of = await scene([5]);
    await recordIn(of, 7);
    const path = `/admin/accounts/${of.account}`;
    const answer = await one.call('PUT', path, { token: operator, body: { expiring_days: null } });
    expect(answer.body.expiring_days).toEqual([]);
    await advance(3);
    expect(await announced(of)).toEqual([]);
  });

  it('the EXPIRING change occurs once for each record, even if two processes sweep at the same moment', async () => {
    const of = await scene([9]);
    await one.given.records(1300, of, {
      eligibility_end_date: `now() + interval '8 days' + n % 7 * interval '1 minute'`,
    });
    await Promise.all([sweep(), sweep()]);
    const rows = await one.given.sql(
      `SELECT count(*) AS n, count(DISTINCT svc_eligiblity_id) AS records FROM changes WHERE account_code = $1 AND change = 'EXPIRING'`,
      [of.account],
    );
    expect(rows).toEqual([{ n: 1300, records: 1300 }]);
  });

  it('a partner that subscribed to the EXPIRING change receives it before the record expires', async () => {
    const of = await scene([3]);
    const subscribed = await Subscribed.start(one, { record_changes: ['EXPIRING', 'EXPIRED'] }, { scene: of });
    const record = await recordIn(of, 10);
    await advance(8);
    await advance(3);
    const { partner } = subscribed;
    await eventually(() => expect(partner.requests).toHaveLength(2), 20_000);
    expect(partner.requests.map(({ json, headers }) => [json.change, headers['event-sequence']])).toEqual([
      ['EXPIRING', '2'],
      ['EXPIRED', '3'],
    ]);
    expect(partner.requests[0].json.svc_eligiblity_id).toBe(record['svc_eligiblity_id']);
    await subscribed.stop();
  });
});

describe('expiring_days of an account', () => {
  it.each([
    ['a repetition', [14, 14], '/expiring_days/1', 'days_repeated'],
    ['a number below 1', [0], '/expiring_days/0', 'out_of_range'],
    ['a number above 365', [366], '/expiring_days/0', 'out_of_range'],
    ['a fraction', [1.5], '/expiring_days/0', 'type_invalid'],
    ['a text', ['3'], '/expiring_days/0', 'type_invalid'],
    ['a number instead of a list', 3, '/expiring_days', 'type_invalid'],
  ])('refuses expiring_days with %s', async (_, expiring_days, pointer, code) => {
    const account = await one.given.account();
    for (const [method, path] of [
      ['PUT', `/admin/accounts/${account}`],
      ['POST', '/admin/accounts'],
    ]) {
      const answer = await one.call(method, path, { token: operator, body: { name: 'Board', expiring_days } });
      expect([answer.status, answer.body.errors]).toEqual([400, [expect.objectContaining({ pointer, code })]]);
    }
  });

  it('POST of an account stores expiring_days, GET returns it, and a PUT that omits it keeps it', async () => {
    const body = { name: 'Board', expiring_days: [3, 14] };
    const created = await one.call('POST', '/admin/accounts', { token: operator, body });
    expect([created.status, created.body.expiring_days]).toEqual([201, [3, 14]]);
    const path = `/admin/accounts/${created.body.account_code}`;
    expect((await one.call('GET', path, { token: operator })).body.expiring_days).toEqual([3, 14]);
    const kept = await one.call('PUT', path, { token: operator, body: { name: 'State Board' } });
    expect(kept.body).toMatchObject({ name: 'State Board', expiring_days: [3, 14] });
  });
});
