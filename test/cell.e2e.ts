import { SCOPES } from '../src/platform/context/caller';
import { startApp, type TestApp } from './support/app';
import { accountBody, Deliveries } from './support/deliveries';

/** Contract section 13: with CELL, what a call carries says where it belongs. */
let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { CELL: 'B' } });
});
afterAll(() => app.close());

it('everything that is generated begins with the letter, and is as long and as random as without', async () => {
  const operator = await app.given.token([], ['admin']);
  const ask = async (method: string, path: string, body?: object, token = operator) =>
    (await app.call(method, path, { token, body })).body;
  const { account_code } = await ask('POST', '/admin/accounts', { name: 'Board' });
  expect(account_code).toMatch(/^B[A-Z2-9]{11}$/);
  const credentials = await ask('POST', '/admin/applications', { name: 'Client', scopes: SCOPES });
  expect(credentials.consumer_key).toMatch(/^B[A-Z2-9]{19}$/);
  const password = 'a horse of another colour';
  await ask('POST', '/admin/users', { username: 'cell', password, account_codes: [account_code], scopes: SCOPES });
  const granted = await fetch(`${app.url}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${credentials.consumer_key}:${credentials.consumer_secret}`)}` },
    body: new URLSearchParams({ grant_type: 'password', username: 'cell', password }),
  });
  const { access_token: token, refresh_token } = (await granted.json()) as Record<string, string>;
  expect([token, refresh_token]).toEqual([
    expect.stringMatching(/^B[\w-]{43}$/),
    expect.stringMatching(/^B[\w-]{43}$/),
  ]);

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

  // An exam that was never booked gets its booking code with its result.
  const unbooked = await app.given.eligibility(scene);
  expect((await new Deliveries(app).put(scene, accountBody(unbooked['candidate'].candidate_id))).status).toBe(200);
  const [row] = await app.given.sql('SELECT booking_code FROM bookings WHERE svc_eligiblity_id = $1', [
    unbooked['svc_eligiblity_id'],
  ]);
  expect(row['booking_code']).toMatch(/^B/);
});

it('what another cell, or none, has made is still taken', async () => {
  const scene = await app.given.scene();
  expect(scene.token).toHaveLength(43);
  expect((await app.call('GET', `/accounts/${scene.account}/eligibilities`, { token: scene.token })).status).toBe(200);
});
