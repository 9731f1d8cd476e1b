import { startApp, type Answer, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { accountBody, Deliveries, registrationBody, type Scene } from '../support/deliveries';

/**
 * Tests section 4 of the contract: the staff of an account see only the results of this account, regardless of who sent
 * them.
 */
let app: TestApp;
let deliveries: Deliveries;
let a: Scene;
let z: Scene;
let driver: string;
let staffOfA: string;
let staffOfZ: string;
let operator: string;

beforeAll(async () => {
  app = await startApp();
  deliveries = new Deliveries(app);
  a = await app.given.scene();
  z = await app.given.scene();
  driver = await app.given.token([a.account, z.account], ['results']);
  staffOfA = await app.given.token([a.account], ['support']);
  staffOfZ = await app.given.token([z.account], ['support']);
  operator = await app.given.operator();
});
afterAll(() => app.close());

const ask = (token: string, method: string, path: string, body?: unknown) => app.call(method, path, { token, body });

/** Returns the id of the unmatched result whose body contains the marker. */
async function idOf(marker: string): Promise<string> {
  const [row] = await app.given.sql('SELECT id FROM unmatched_results WHERE strpos(body, $1) > 0', [marker]);
  return row['id'] as string;
}

async function listed(token: string): Promise<string[]> {
  const { body } = await ask(token, 'GET', '/admin/unmatched-results?limit=200');
  return (body as { id: string }[]).map(({ id }) => id);
}

const counted = async (token: string) => (await ask(token, 'GET', '/admin/overview')).body.unmatched_results as number;

const seen = ({ status, body }: Answer) => [status, body.code];

/** Sends a result that the service refuses; returns the id of the unmatched result. */
async function accountResult(scene: Scene): Promise<string> {
  const marker = app.given.unique('m');
  const body = accountBody(app.given.unique('NOBODY-'), { marker });
  expect((await deliveries.put({ account: scene.account, token: driver }, body)).status).toBe(400);
  return idOf(marker);
}

async function registrationResult(examCode: string, token = driver): Promise<string> {
  const marker = app.given.unique('m');
  const examMetaData = { examCode, extRecordLocator: app.given.unique('L-') };
  expect((await deliveries.register(token, registrationBody({ marker, examMetaData }))).status).toBe(400);
  return idOf(marker);
}

/**
 * Checks that each staff action on a result of another account gets the same response as an action on an unknown
 * result, and changes nothing.
 */
async function expectHidden(id: string, token: string): Promise<void> {
  const row = () => app.given.sql('SELECT * FROM unmatched_results WHERE id = $1', [id]);
  const before = await row();
  expect(await listed(token)).not.toContain(id);
  const unknown = '00000000-0000-4000-8000-000000000000';
  const exam = await app.given.eligibility(z);
  for (const [method, path, body] of [
    ['GET', ''],
    ['GET', '?media=false'],
    ['GET', '/candidates'],
    ['POST', '/reject', { reason: 'not ours' }],
    ['POST', '/accept', { svc_eligiblity_id: exam['svc_eligiblity_id'] as string }],
  ] as const) {
    const answer = await ask(token, method, `/admin/unmatched-results/${id}${path}`, body);
    const ofNone = await ask(token, method, `/admin/unmatched-results/${unknown}${path}`, body);
    expect([method, path, ...seen(answer)]).toEqual([method, path, 404, 'unmatched_result_not_found']);
    expect(seen(ofNone)).toEqual(seen(answer));
    expect(answer.body.detail).toBe(ofNone.body.detail);
  }
  expect(await row()).toEqual(before);
}

describe('an account result sent by a driver of two accounts', () => {
  it('hides an account result from the staff of accounts other than the one in its path', async () => {
    const [atA, atZ] = [await counted(staffOfA), await counted(staffOfZ)];
    const id = await accountResult(a);
    await expectHidden(id, staffOfZ);
    expect(await listed(staffOfA)).toContain(id);
    expect(await listed(operator)).toContain(id);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect([await counted(staffOfA), await counted(staffOfZ)]).toEqual([atA + 1, atZ]);
  });

  it('staff can read and reject an unmatched account result whose path names their account', async () => {
    const id = await accountResult(a);
    expect((await ask(staffOfA, 'GET', `/admin/unmatched-results/${id}`)).body).toMatchObject({
      account_code: a.account,
    });
    const rejected = await ask(staffOfA, 'POST', `/admin/unmatched-results/${id}/reject`, { reason: 'a rehearsal' });
    expect(rejected.status).toBe(204);
  });
});

describe('a registration result', () => {
  it('staff can see a registration result if it arrives again after the exam was created in their account', async () => {
    const code = app.given.unique('CE-');
    const bodyWith = (extRecordLocator: string) =>
      registrationBody({ examMetaData: { examCode: code, extRecordLocator } });
    const send = async () =>
      (await deliveries.register(driver, bodyWith('L-WRONG'))).body.unmatched_result_id as string;
    const id = await send();
    expect(await listed(staffOfA)).not.toContain(id);
    await app.given.eligibility(a, { client_eligibility_id: code });
    expect((await deliveries.register(driver, bodyWith('L-RIGHT'))).status).toBe(200);
    expect(await send()).toBe(id);
    expect(await listed(staffOfA)).toContain(id);
    expect(await listed(staffOfZ)).not.toContain(id);
  });

  it('shows a faulty registration result to the staff of the account whose exam its locator names', async () => {
    const locator = app.given.unique('L-');
    const record = await app.given.eligibility(a);
    const { booking_code: examCode } = await app.given.booking(a, record);
    const of = (code: unknown) => registrationBody({ examMetaData: { examCode: code, extRecordLocator: locator } });
    expect((await deliveries.register(driver, of(examCode))).status).toBe(200);
    const { body } = await deliveries.register(driver, of([1]));
    expect(body.code).toBe('validation_error');
    expect(await listed(staffOfA)).toContain(body.unmatched_result_id);
    expect(await listed(staffOfZ)).not.toContain(body.unmatched_result_id);
  });

  it('does not show a result for an erased record to the staff of the account whose exam its locator names', async () => {
    const locator = app.given.unique('L-');
    const of = (examCode: string, changes = {}) =>
      registrationBody({ examMetaData: { examCode, extRecordLocator: locator }, ...changes });
    const { svc_eligiblity_id: other } = await app.given.eligibility(z);
    expect((await deliveries.register(driver, of(other as string))).status).toBe(200);
    const { svc_eligiblity_id: erased, candidate } = await app.given.eligibility(a);
    const path = `/admin/accounts/${a.account}/candidates/${candidate.candidate_id}/erase`;
    expect((await ask(operator, 'POST', path, { reason: 'asked for' })).status).toBeLessThan(300);
    const ERASED = 'SELECT FROM eligibilities WHERE svc_eligiblity_id = $1 AND erased_datetime IS NOT NULL';
    await eventually(async () => expect(await app.given.sql(ERASED, [erased])).toHaveLength(1));
    const { body } = await deliveries.register(driver, of(erased as string, { examTakerEmail: [1] }));
    expect(body.code).toBe('validation_error');
    expect(await listed(staffOfA)).toContain(body.unmatched_result_id);
    expect(await listed(staffOfZ)).not.toContain(body.unmatched_result_id);
  });

  it('a sender who repeats a result that was accepted for another account’s exam gets 200, and the sender’s staff cannot see the exam', async () => {
    const user = await app.given.token([z.account], ['results']);
    const body = registrationBody({ examMetaData: { examCode: app.given.unique('CE-') } });
    const { unmatched_result_id: id } = (await deliveries.register(user, body)).body as { unmatched_result_id: string };
    const accept = (record: Record<string, any>, unmatched: string) =>
      ask(operator, 'POST', `/admin/unmatched-results/${unmatched}/accept`, {
        svc_eligiblity_id: record['svc_eligiblity_id'],
        reason: 'The candidate took this exam.',
      });
    expect((await accept(await app.given.eligibility(a), id)).status).toBe(204);
    expect((await deliveries.register(user, body)).status).toBe(200);
    const read = async (token: string) => (await ask(token, 'GET', `/admin/unmatched-results/${id}`)).body;
    expect(await read(staffOfZ)).toMatchObject({ svc_eligiblity_id: null, accept_reason: null });
    expect(await read(operator)).toMatchObject({ accept_reason: 'The candidate took this exam.' });
  });

  it('if a user of two accounts sends a registration result that names no exam, only operators can see it', async () => {
    const id = await registrationResult('NOWHERE');
    await expectHidden(id, staffOfA);
    await expectHidden(id, staffOfZ);
    expect(await listed(operator)).toContain(id);
  });

  it('shows a registration result only to the staff of the account whose exam it names', async () => {
    const cancelled = await app.given.eligibility(a);
    const { svc_eligiblity_id, candidate } = cancelled as { svc_eligiblity_id: string; candidate: any };
    await ask(a.token, 'DELETE', `/accounts/${a.account}/candidates/${candidate.candidate_id}/tests/${a.testCode}`);
    const id = await registrationResult(svc_eligiblity_id);
    await expectHidden(id, staffOfZ);
    expect(await listed(staffOfA)).toContain(id);
  });

  it('shows a registration result from a user of only one account to the staff of that account', async () => {
    const id = await registrationResult('NOWHERE', await app.given.token([a.account], ['results']));
    await expectHidden(id, staffOfZ);
    expect(await listed(staffOfA)).toContain(id);
  });

  it('a registration result that an operator sent is shown only to operators, whatever accounts the sender has', async () => {
    const id = await registrationResult('NOWHERE', await app.given.token([a.account], ['results', 'admin']));
    await expectHidden(id, staffOfA);
    expect(await listed(operator)).toContain(id);
  });
});
