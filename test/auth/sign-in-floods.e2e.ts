import { PROCESSES } from '../../src/auth/tokens/passwords';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { basic, OAuth, type Login } from '../support/oauth';
import { holdHashing, type HeldHashes } from '../support/races';

/**
 * The number of sign-ins in the flood. The service cannot check and queue so many sign-ins at a time, and refuses the
 * rest.
 */
const FLOOD = 160;
const REFUSED = FLOOD - PROCESSES - 128;
/**
 * The maximum number of passwords that the service may hash before the password of a new caller. These are the
 * passwords that the service already hashes, and one for each group of callers in the fair queue.
 */
const SOON = PROCESSES + 3;

let app: TestApp;
let oauth: OAuth;
let held: HeldHashes;
let flood: AbortController;
let refused: Response[];

beforeEach(async () => {
  app = await startApp({ env: { TRUST_PROXY: '1' } });
  oauth = new OAuth(app);
});
afterEach(async () => {
  flood.abort();
  held.release();
  await app.close();
});

/**
 * Blocks all hashing processes, and fills the queue of password checks with numbered requests. Waits until the service
 * has refused the requests that do not fit into the queue.
 */
async function floodWith(path: string, request: (at: number) => { body: string; headers: Record<string, string> }) {
  [held, flood, refused] = [holdHashing(), new AbortController(), []];
  for (let at = 0; at < FLOOD; at++)
    fetch(app.url + path, { method: 'POST', signal: flood.signal, ...request(at) }).then(
      (response) => (response.status === 503 ? refused.push(response) : undefined),
      () => undefined,
    );
  await eventually(() => refused.length === REFUSED, 60_000);
}

/**
 * Waits until the service has refused the given number of additional requests from the flood, to make room for other
 * callers.
 */
const roomIsMadeFor = (count: number) => eventually(() => refused.length === REFUSED + count, 60_000);

const grantOf = ({ username, password }: Login, address: string) => ({
  body: new URLSearchParams({ grant_type: 'password', username, password }).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': address },
});

it('clients get tokens and operators can create users while strangers flood the console’s sign-in', async () => {
  const login = await oauth.login();
  const operator = await app.given.operator();
  await floodWith('/console/session', (at) => ({
    body: JSON.stringify({ username: `invented-${at}`, password: `guess ${at}` }),
    headers: { 'content-type': 'application/json', 'console-request': '1', 'x-forwarded-for': `203.0.113.${at}` },
  }));
  const password = 'eleven slow otters sing';
  const body = { username: app.given.unique('made-'), password, account_codes: [], scopes: ['read'] };
  const made = app.call('POST', '/admin/users', { token: operator, body });
  await roomIsMadeFor(1);
  const grant = oauth.byPassword(login);
  await roomIsMadeFor(2);
  held.release();
  expect([(await grant).status, (await made).status]).toEqual([200, 201]);
  expect(held.begun.indexOf(login.password)).toBeLessThan(SOON);
  expect(held.begun.indexOf(password)).toBeLessThan(SOON);
  for (const response of refused) expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}, 180_000);

it('token requests from other addresses and applications are answered during a flood from one address', async () => {
  const flooding = await oauth.login();
  const elsewhere = await oauth.login();
  const other = await oauth.login();
  await floodWith('/token', () => {
    const { body, headers } = grantOf(flooding, '203.0.113.1');
    return { body, headers: { ...headers, authorization: basic(flooding) } };
  });
  // The second user requests tokens from another address, but for the same application as the flood.
  const { consumer_key, consumer_secret } = flooding;
  const sameApplication = { ...elsewhere, consumer_key, consumer_secret };
  const beside = grantOf(sameApplication, '203.0.113.2');
  const grants = [
    oauth.post('/token', sameApplication, beside.body, beside.headers),
    oauth.post('/token', other, grantOf(other, '203.0.113.1').body, grantOf(other, '203.0.113.1').headers),
  ];
  await roomIsMadeFor(2);
  held.release();
  expect((await Promise.all(grants)).map(({ status }) => status)).toEqual([200, 200]);
  expect(held.begun.indexOf(elsewhere.password)).toBeLessThan(SOON);
  expect(held.begun.indexOf(other.password)).toBeLessThan(SOON);
  for (const response of refused) {
    expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(await response.json()).toMatchObject({ error: 'temporarily_unavailable' });
  }
}, 180_000);
