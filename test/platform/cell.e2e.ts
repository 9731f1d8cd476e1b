import { SCOPES } from '../../src/platform/context/caller';
import { startApp, type TestApp } from '../support/app';
import { cloneDatabase } from '../support/database';
import { accountBody, Deliveries, registrationBody } from '../support/deliveries';
import { eventually } from '../support/eventually';

/**
 * Tests section 13 of the contract: with the `CELL` setting, the tokens and codes in a request show which cell must
 * handle the request.
 */
let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { CELL: 'B' } });
});
afterAll(() => app.close());

it("generated codes and tokens begin with the cell's letter, and tokens are as random as without CELL", async () => {
  const operator = await app.given.token([], ['admin']);
  const ask = async (method: string, path: string, body?: object, token = operator) =>
    (await app.call(method, path, { token, body })).body;
  const { account_code } = await ask('POST', '/admin/accounts', { name: 'Board' });
  expect(account_code).toMatch(/^B[A-Z2-9]{11}$/);
  const credentials = await ask('POST', '/admin/applications', { name: 'Client', scopes: SCOPES });
  expect(credentials.consumer_key).toMatch(/^B[A-Z2-9]{19}$/);
  const password = 'a horse of another colour';
  await ask('POST', '/admin/users', { username: 'cell', password, account_codes: [account_code], scopes: SCOPES });
  const grant = async (form: Record<string, string>) => {
    const answer = await fetch(`${app.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${credentials.consumer_key}:${credentials.consumer_secret}`)}` },
      body: new URLSearchParams(form),
    });
    const { access_token, refresh_token } = (await answer.json()) as Record<string, string>;
    return [access_token, refresh_token];
  };
  const generated = [expect.stringMatching(/^B[\w-]{43}$/), expect.stringMatching(/^B[\w-]{43}$/)];
  const granted = await grant({ grant_type: 'password', username: 'cell', password });
  expect(granted).toEqual(generated);
  const refreshed = await grant({ grant_type: 'refresh_token', refresh_token: granted[1] });
  expect(refreshed).toEqual(generated);
  const [token] = refreshed;
  // A token starts with the letter of its cell. The 43 base64url characters after it contain 256 bits, as in a service
  // without cells. No two tokens are the same.
  const behind = [...granted, ...refreshed].map((one) => one.slice(1));
  expect(behind.map((one) => Buffer.from(one, 'base64url').length)).toEqual([32, 32, 32, 32]);
  expect(new Set(behind).size).toBe(4);

  const testCode = await app.given.test(account_code);
  const scene = { account: account_code as string, testCode, token };
  const eligibility = await app.given.eligibility(scene);
  expect(eligibility['svc_eligiblity_id']).toMatch(/^B[A-Z2-9]{7}$/);
  const booking = await app.given.booking(scene, eligibility);
  expect(booking['booking_code']).toMatch(/^B[A-Z2-9]{9}$/);
  const { launch_url } = await ask(
    'GET',
    `/eligibilities/${eligibility['svc_eligiblity_id']}/testLaunchInfo`,
    undefined,
    token,
  );
  const launchToken = (launch_url as string).split('/').at(-1)!;
  expect(launchToken).toMatch(/^B[\w-]{43}$/);
  expect((await app.call('GET', `/launch/${launchToken}`)).status).toBe(303);

  // When a result arrives for an exam that was never booked, the service creates a booking with a generated code.
  const unbooked = await app.given.eligibility(scene);
  expect((await new Deliveries(app).put(scene, accountBody(unbooked['candidate'].candidate_id))).status).toBe(200);
  const [row] = await app.given.sql('SELECT booking_code FROM bookings WHERE svc_eligiblity_id = $1', [
    unbooked['svc_eligiblity_id'],
  ]);
  expect(row['booking_code']).toMatch(/^B[A-Z2-9]{9}$/);
});

it("codes that an import generates begin with the cell's letter", async () => {
  const scene = await app.given.scene();
  const path = `/accounts/${scene.account}/eligibility-imports`;
  const headers = { 'content-type': 'application/x-ndjson' };
  const lines = [1, 2, 3].map((n) =>
    app.given.eligibilityBody(scene.testCode, { candidate: { candidate_id: `I-${n}` } }),
  );
  const body = lines.map((line) => JSON.stringify(line)).join('\n');
  const { body: started } = await app.call('POST', path, { token: scene.token, body, headers });
  await eventually(async () => {
    const { body: found } = await app.call('GET', `${path}/${started.import_id}`, { token: scene.token });
    expect(found).toMatchObject({ state: 'DONE', created: 3 });
  }, 30_000);
  const { body: records } = await app.call('GET', `/accounts/${scene.account}/eligibilities`, { token: scene.token });
  const letters = records.map((record: Record<string, string>) =>
    record['svc_eligiblity_id'].replace(/[A-Z2-9]{7}$/, ''),
  );
  expect(letters).toEqual(['B', 'B', 'B']);
});

it('tokens and codes that were generated before CELL was set are accepted until they expire', async () => {
  const database = await cloneDatabase();
  const secret = Buffer.alloc(32, 7).toString('base64');
  const before = await startApp({ databaseUrl: database.url, env: { SECRETS_KEY: secret } });
  const scene = await before.given.scene();
  const record = await before.given.eligibility(scene);
  const id = record['svc_eligiblity_id'] as string;
  const booking = await before.given.booking(scene, record);
  const info = `/eligibilities/${id}/testLaunchInfo`;
  const { body: launch } = await before.call('GET', info, { token: scene.token });
  const link = new URL(launch.launch_url as string).pathname;
  expect([scene.token.length, link]).toEqual([43, expect.stringMatching(/^\/launch\/[\w-]{43}$/)]);
  await before.close();

  const after = await startApp({ databaseUrl: database.url, env: { SECRETS_KEY: secret, CELL: 'B' } });
  const get = async (path: string) => (await after.call('GET', path, { token: scene.token })).status;
  expect(await get(`/accounts/${scene.account}/bookings/${booking['booking_code']}`)).toBe(200);
  expect(await get(info)).toBe(200);
  expect((await after.call('GET', link)).status).toBe(303);
  const result = registrationBody({ examMetaData: { examCode: id } });
  expect((await new Deliveries(after).register(scene.token, result)).status).toBe(200);
  await after.close();
  await database.drop();
});
