import { randomBytes } from 'node:crypto';
import { SCOPES } from '../../src/platform/context/caller';
import { startApp, type TestApp } from '../support/app';
import { OAuth, type Login } from '../support/oauth';

const SECRETS_KEY = randomBytes(32).toString('base64');

describe('the hourly limit of wrong passwords for one name', () => {
  const LOCKOUT_ATTEMPTS = 3;
  let one: TestApp;
  let two: TestApp;

  beforeAll(async () => {
    const env = { LOCKOUT_ATTEMPTS: String(LOCKOUT_ATTEMPTS), TRUST_PROXY: '1', SECRETS_KEY };
    one = await startApp({ env });
    two = await startApp({ env, databaseUrl: one.databaseUrl });
  });
  afterAll(async () => {
    await two.close();
    await one.close();
  });
  beforeEach(() => one.given.sql('TRUNCATE login_attempts'));

  let address = 0;
  /** Tries to sign in to the console from an address that was not used before. */
  const signIn = (at: TestApp, { username, password }: { username: string; password: string }) =>
    at.call('POST', '/console/session', {
      body: { username, password },
      headers: { 'console-request': '1', 'x-forwarded-for': `2001:db8:0:${(address++).toString(16)}::1` },
    });
  const wrong = (login: Login) => ({ ...login, password: 'wrong' });
  const operator = () => new OAuth(one).login({ scopes: SCOPES });
  const counted = () => one.given.sql(`SELECT failures, forget_at FROM login_attempts WHERE consumer_key = ''`);
  const guessed = (times: number) =>
    one.given.sql(`UPDATE login_attempts SET failures = $1 WHERE consumer_key = ''`, [times]);

  it('at most 100 wrong passwords are checked per username and hour, across all addresses, applications and processes', async () => {
    const login = await operator();
    const [through, elsewhere] = [new OAuth(one), new OAuth(two)];
    const refusal = (await elsewhere.byPassword(wrong(await operator()))).text;
    await one.given.sql('TRUNCATE login_attempts');
    expect((await signIn(one, wrong(login))).status).toBe(403);
    await guessed(97);
    expect((await signIn(two, wrong(login))).status).toBe(403);
    expect((await through.byPassword(wrong(login))).status).toBe(400);
    expect((await signIn(one, login)).status).toBe(204);
    expect((await signIn(two, wrong(login))).status).toBe(403);
    const full = await counted();
    expect(full).toEqual([{ failures: 100, forget_at: expect.any(Date) }]);

    for (const app of [one, two]) {
      const answer = await signIn(app, login);
      expect([answer.status, answer.body.code]).toEqual([429, 'rate_limited']);
      expect(answer.body.detail).toMatch(/Please be patient, and try again in (60|5\d) min\.$/);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(3000);
      expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(3600);
    }
    for (const answer of [await through.byPassword(login), await elsewhere.byPassword(wrong(login))])
      expect([answer.status, answer.text]).toEqual([400, refusal]);
    // A wrong password beyond the hourly limit must not extend the limit, and must not count towards a lockout.
    expect(await counted()).toEqual(full);
    const locks = await one.given.sql(`SELECT max(failures) AS most FROM login_attempts WHERE consumer_key <> ''`);
    expect(locks).toEqual([{ most: 1 }]);
    const rows = `SELECT application FROM audit_log WHERE action = 'user.lock_out' AND subject = $1`;
    expect(await one.given.sql(rows, [login.username])).toEqual([{ application: null }]);

    const other = await operator();
    expect((await signIn(one, other)).status).toBe(204);
    await one.given.sql(`UPDATE login_attempts SET forget_at = now() WHERE consumer_key = ''`);
    expect((await signIn(two, login)).status).toBe(204);
    expect((await signIn(two, wrong(login))).status).toBe(403);
    expect(await counted()).toMatchObject([{ failures: 1 }]);
  });

  it('the hourly limit on wrong passwords applies to unknown and known usernames alike', async () => {
    const login = { ...(await operator()), username: 'nobody-here' };
    await signIn(one, login);
    await guessed(100);
    const answer = await signIn(two, login);
    expect([answer.status, answer.body.code]).toEqual([429, 'rate_limited']);
  });

  it('unlocking a user resets the hourly limit on wrong passwords', async () => {
    const login = await operator();
    await signIn(one, wrong(login));
    await guessed(100);
    expect((await signIn(one, login)).status).toBe(429);
    const token = await one.given.operator();
    expect((await one.call('POST', `/admin/users/${login.username}/unlock`, { token })).status).toBe(204);
    expect((await signIn(two, login)).status).toBe(204);
  });

  it('the hourly limit on wrong passwords applies to simultaneous guesses', async () => {
    const login = await operator();
    await signIn(one, wrong(login));
    await guessed(97);
    await Promise.all(Array.from({ length: 12 }, (_, at) => signIn(at % 2 ? one : two, wrong(login))));
    expect(await counted()).toMatchObject([{ failures: 100 }]);
  });

  it('while a username is locked in an application, attempts from this application do not count towards the hourly limit', async () => {
    const login = await operator();
    for (let at = 0; at < LOCKOUT_ATTEMPTS + 3; at++) await new OAuth(one).byPassword(wrong(login));
    expect(await counted()).toMatchObject([{ failures: LOCKOUT_ATTEMPTS }]);
  });
});
