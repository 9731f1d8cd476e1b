import { startApp, type Answer, type TestApp } from '../support/app';
import { CookieJar } from '../support/identity-provider';
import { OAuth, type Login } from '../support/oauth';
import { SCOPES } from '../../src/platform/context/caller';

const FROM_CONSOLE = { 'console-request': '1' };
const COOKIE = '__Host-console-session';

let app: TestApp;
let operator: Login;

beforeAll(async () => {
  app = await startApp({ env: { LOCKOUT_ATTEMPTS: '3' } });
});
beforeEach(async () => {
  operator = await new OAuth(app).login({ scopes: SCOPES });
});
afterAll(() => app.close());

/** Imitates a browser that uses the console: sends its requests and keeps its cookies. */
class Browser {
  readonly jar = new CookieJar();

  constructor(private readonly at = app) {}

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = FROM_CONSOLE) {
    const answer = await this.at.call(method, path, { body, headers: { ...headers, cookie: this.jar.header } });
    this.jar.keep(answer.headers);
    return answer;
  }

  signIn({ username, password }: { username: string; password: string }): Promise<Answer> {
    return this.call('POST', '/console/session', { username, password });
  }
}

async function signedIn(login = operator): Promise<Browser> {
  const browser = new Browser();
  expect((await browser.signIn(login)).status).toBe(204);
  return browser;
}

const refusal = ({ status, body }: Answer) => [status, body?.code];

describe('a session of the console', () => {
  it('the session token is sent only in a cookie that no script can read and no other site can send, never in a body', async () => {
    const browser = new Browser();
    const answer = await browser.signIn(operator);
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-console-session=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/),
    ]);
    expect([answer.text, answer.headers.get('cache-control')]).toEqual(['', 'no-store']);
    const state = await browser.call('GET', '/console/session');
    expect(state.headers.get('cache-control')).toBe('no-store');
    expect(state.body).toEqual({
      session: {
        username: operator.username,
        scopes: ['admin', 'bookings', 'create', 'delete', 'partner', 'read', 'results', 'support', 'update'],
        account_codes: [operator.account],
        accounts: [{ account_code: operator.account, name: `Board ${operator.account}` }],
        expires_datetime: expect.any(String),
        organisation: false,
      },
      sign_in: { password: true, organisation: false },
    });
    const [{ found }] = await app.given.sql(
      'SELECT count(*)::int AS found FROM access_tokens t WHERE strpos(t::text, $1) > 0',
      [browser.jar.get(COOKIE)],
    );
    expect(found).toBe(0);
  });

  it('every route accepts a console session like a token, with the scopes of its user', async () => {
    const browser = await signedIn();
    expect((await browser.call('GET', '/admin/error-queue')).status).toBe(200);
    expect((await browser.call('POST', '/admin/accounts', { name: 'From the console' })).status).toBe(201);
    const audit = (await browser.call('GET', `/admin/audit?actor=${operator.username}`)).body;
    expect(audit.map((row: any) => [row.action, row.application])).toEqual([
      ['account.create', 'CONSOLEOFTHISSERVICE'],
      ['session.start', 'CONSOLEOFTHISSERVICE'],
    ]);
    const staff = await new OAuth(app).login({ scopes: ['support'] });
    const theirs = await signedIn(staff);
    expect((await theirs.call('GET', '/admin/error-queue')).status).toBe(200);
    expect(refusal(await theirs.call('GET', '/admin/users'))).toEqual([403, 'insufficient_scope']);
    expect(refusal(await theirs.call('GET', `/admin/error-queue?account_code=${operator.account}`))).toEqual([
      403,
      'account_forbidden',
    ]);
  });

  it('a console session is refused in a request that another site could send, and is refused as a bearer token', async () => {
    const browser = await signedIn();
    const forgeries: Record<string, string>[] = [
      {},
      { 'console-request': '0' },
      { ...FROM_CONSOLE, 'sec-fetch-site': 'cross-site' },
      { ...FROM_CONSOLE, 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of forgeries) {
      expect(refusal(await browser.call('GET', '/admin/error-queue', undefined, headers))).toEqual([
        401,
        'unauthorized',
      ]);
      expect((await browser.call('GET', '/console/session', undefined, headers)).body.session).toBeNull();
      expect((await browser.call('DELETE', '/console/session', undefined, headers)).status).toBe(204);
      const { username, password } = operator;
      expect(refusal(await new Browser().call('POST', '/console/session', { username, password }, headers))).toEqual([
        403,
        'not_the_console',
      ]);
    }
    const same = { ...FROM_CONSOLE, 'sec-fetch-site': 'same-origin' };
    expect((await browser.call('GET', '/admin/error-queue', undefined, same)).status).toBe(200);
    const token = browser.jar.get(COOKIE);
    expect(refusal(await app.call('GET', '/admin/error-queue', { token }))).toEqual([401, 'unauthorized']);
  });

  it('a console session stays valid after a restart, and is valid in every process', async () => {
    const browser = await signedIn();
    const other = await startApp({
      databaseUrl: app.databaseUrl,
      env: { BASE_URL: 'http://localhost', SECRETS_KEY: Buffer.alloc(32, 3).toString('base64') },
    });
    try {
      const answer = await fetch(`http://127.0.0.1:${(other.app.getHttpServer().address() as any).port}/admin/jobs`, {
        headers: { ...FROM_CONSOLE, cookie: browser.jar.header },
      });
      expect(answer.status).toBe(200);
    } finally {
      await other.close();
    }
  });

  it('a console session ends after half an hour without a request, and after 12 hours at the latest', async () => {
    const browser = await signedIn();
    const family = `(SELECT family_id FROM token_families WHERE username = '${operator.username}')`;
    const lasts = async () =>
      (
        await app.given.sql(
          `SELECT round(extract(epoch FROM t.expires_at - now()) / 60)::int AS idle,
             round(extract(epoch FROM f.expires_at - now()) / 3600)::int AS whole
           FROM access_tokens t JOIN token_families f USING (family_id) WHERE family_id = ${family}`,
        )
      )[0];
    expect(await lasts()).toEqual({ idle: 30, whole: 12 });
    await app.given.sql(
      `UPDATE access_tokens SET expires_at = now() + interval '5 minutes' WHERE family_id = ${family}`,
    );
    await browser.call('GET', '/console/session');
    expect(await lasts()).toMatchObject({ idle: 5 });
    await browser.call('GET', '/admin/jobs');
    expect(await lasts()).toMatchObject({ idle: 30 });
    await app.given.sql(
      `UPDATE token_families SET expires_at = now() + interval '3 minutes' WHERE family_id = ${family}`,
    );
    await app.given.sql(
      `UPDATE access_tokens SET expires_at = now() + interval '1 minute' WHERE family_id = ${family}`,
    );
    await browser.call('GET', '/admin/jobs');
    expect(await lasts()).toMatchObject({ idle: 3 });
    await app.given.sql(`UPDATE access_tokens SET expires_at = now() WHERE family_id = ${family}`);
    expect(refusal(await browser.call('GET', '/admin/jobs'))).toEqual([401, 'unauthorized']);
    expect((await browser.call('GET', '/console/session')).body.session).toBeNull();
  });

  it('a console session ends when the user signs out of it or everywhere, or signs in again in the same browser', async () => {
    const [here, there] = [await signedIn(), await signedIn()];
    const cookie = here.jar.header;
    expect((await here.call('DELETE', '/console/session')).status).toBe(204);
    expect(here.jar.get(COOKIE)).toBeUndefined();
    const stolen = (path: string) => app.call('GET', path, { headers: { ...FROM_CONSOLE, cookie } });
    expect(refusal(await stolen('/admin/jobs'))).toEqual([401, 'unauthorized']);
    expect((await there.call('GET', '/admin/jobs')).status).toBe(200);

    const before = there.jar.header;
    expect((await there.signIn(operator)).status).toBe(204);
    expect(there.jar.header).not.toBe(before);
    const old = await app.call('GET', '/admin/jobs', { headers: { ...FROM_CONSOLE, cookie: before } });
    expect(refusal(old)).toEqual([401, 'unauthorized']);

    const elsewhere = await signedIn();
    const { access_token } = await new OAuth(app).tokens(operator);
    expect((await there.call('DELETE', '/console/sessions')).status).toBe(204);
    for (const browser of [there, elsewhere])
      expect(refusal(await browser.call('GET', '/admin/jobs'))).toEqual([401, 'unauthorized']);
    expect((await app.call('GET', '/admin/jobs', { token: access_token })).status).toBe(200);
  });

  it('a console session ends immediately when its user is disabled, loses its scope or gets a new password', async () => {
    const admin = await app.given.operator();
    const changes = [{ disabled: true }, { scopes: ['read'] }, { password: 'eleven slow otters sing' }];
    for (const change of changes) {
      const login = await new OAuth(app).login({ scopes: SCOPES });
      const browser = await signedIn(login);
      await app.call('PUT', `/admin/users/${login.username}`, { token: admin, body: change });
      expect(refusal(await browser.call('GET', '/admin/jobs'))).toEqual([401, 'unauthorized']);
    }
  });
});

describe('signing in by password at the console', () => {
  it('every refused sign-in at the console gets the same response, whatever the reason, and writes an audit row', async () => {
    const client = await new OAuth(app).login();
    const gone = await new OAuth(app).login({ scopes: SCOPES });
    await app.given.sql('UPDATE users SET disabled = true WHERE username = $1', [gone.username]);
    const answers: Answer[] = [];
    for (const login of [client, gone, { ...operator, password: 'wrong' }, { ...operator, username: 'nobody' }])
      answers.push(await new Browser().signIn(login));
    for (const answer of answers) {
      expect(refusal(answer)).toEqual([403, 'sign_in_refused']);
      const { request_id: _, ...rest } = answer.body;
      expect(rest).toEqual({ ...answers[0].body, request_id: undefined });
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
    const [row] = await app.given.sql(`SELECT refused FROM token_refusals WHERE consumer_key = 'CONSOLEOFTHISSERVICE'`);
    expect(row).toEqual({ refused: 4 });
    expect(refusal(await new Browser().call('POST', '/console/session', { username: 'x' }))).toEqual([
      400,
      'validation_error',
    ]);
  });

  it('wrong passwords at the console lock a username only for the IP address that sent them', async () => {
    const behind = await startApp({
      databaseUrl: app.databaseUrl,
      env: { LOCKOUT_ATTEMPTS: '3', TRUST_PROXY: '1', SECRETS_KEY: app.config.secrets.keys[0].toString('base64') },
    });
    const from = (address: string, login: { username: string; password: string }) =>
      behind.call('POST', '/console/session', {
        body: { username: login.username, password: login.password },
        headers: { ...FROM_CONSOLE, 'x-forwarded-for': address },
      });
    try {
      for (let guess = 0; guess < 3; guess++) await from('192.0.2.1', { ...operator, password: 'wrong' });
      expect(refusal(await from('192.0.2.1', operator))).toEqual([403, 'sign_in_refused']);
      expect((await from('192.0.2.2', operator)).status).toBe(204);
      const admin = await app.given.operator();
      await app.call('POST', `/admin/users/${operator.username}/unlock`, { token: admin });
      expect((await from('192.0.2.1', operator)).status).toBe(204);
    } finally {
      await behind.close();
    }
  });

  it('console sign-ins count towards the token request limit of an address, and are refused under OPERATOR_PASSWORDS=off', async () => {
    const strict = await startApp({
      databaseUrl: app.databaseUrl,
      env: { OPERATOR_PASSWORDS: 'off', TOKEN_RATE_LIMIT_PER_MINUTE: '2' },
    });
    try {
      const browser = new Browser(strict);
      expect((await browser.call('GET', '/console/session')).body.sign_in.password).toBe(false);
      const answers = [await browser.signIn(operator), await browser.signIn(operator), await browser.signIn(operator)];
      expect(answers.map(refusal)).toEqual([
        [403, 'sign_in_refused'],
        [403, 'sign_in_refused'],
        [429, 'rate_limited'],
      ]);
      expect(answers[2].headers.get('retry-after')).toMatch(/^\d+$/);
    } finally {
      await strict.close();
    }
  });
});
