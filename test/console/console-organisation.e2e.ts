import { startApp, type TestApp } from '../support/app';
import { openPage, startBrowser } from '../support/browser';
import { ConsoleDriver } from '../support/console';
import { CookieJar, freePort, startIdentityProvider, type IdentityProvider } from '../support/identity-provider';
import { OAuth } from '../support/oauth';

const FROM_CONSOLE = { 'console-request': '1' };

let app: TestApp;
let provider: IdentityProvider;
let account: string;
let other: string;

const settings = () => ({
  OPERATOR_PASSWORDS: 'off',
  OIDC_ISSUER: provider.issuer,
  OIDC_CLIENT_ID: 'console',
  OIDC_CLIENT_SECRET: 'a-secret-of-the-console',
  OIDC_ADMIN_GROUP: 'exam-admins',
  OIDC_SUPPORT_GROUP_PREFIX: 'exam-support-',
});

beforeAll(async () => {
  const port = await freePort();
  provider = await startIdentityProvider(`http://localhost:${port}/console/sign-in/callback`);
  app = await startApp({ env: { ...settings(), PORT: String(port) } });
  account = await app.given.account();
  other = await app.given.account();
});
afterAll(async () => {
  provider.stop();
  await app.close();
});

const CALLBACK = '/console/sign-in/callback';
const start = () => `${app.url}/console/sign-in`;
const isCallback = (address: string) => address.startsWith(app.url + CALLBACK);
const isConsole = (address: string) => address === `${app.url}/console`;
const call = (jar: CookieJar, path: string) =>
  app.call('GET', path, { headers: { ...FROM_CONSOLE, cookie: jar.header } });

/**
 * Signs in through the organisation's identity provider, from the first request to the last redirect. Returns the
 * browser, and the status, address and text of its last page.
 */
async function signIn(jar = new CookieJar()): Promise<{ jar: CookieJar; status: number; at: string; page: string }> {
  const [response, at] = await jar.follow(start(), isConsole);
  return { jar, status: response.status, at, page: await response.text() };
}

const session = async (jar: CookieJar) => (await call(jar, '/console/session')).body.session;

describe('signing in at the organisation', () => {
  it('members of the admin group who sign in by authorization code with PKCE, state and nonce get the `admin` scope', async () => {
    await provider.person({ sub: 'person-1', preferred_username: 'maria', groups: ['exam-admins', 'staff'] });
    const jar = new CookieJar();
    const first = await jar.visit(start());
    const address = new URL(first.headers.get('location')!);
    expect([first.status, address.origin]).toEqual([303, provider.issuer]);
    expect(Object.fromEntries(address.searchParams)).toEqual({
      client_id: 'console',
      response_type: 'code',
      redirect_uri: app.url + CALLBACK,
      scope: 'openid profile email groups',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    expect(first.headers.getSetCookie()[0]).toMatch(/; Path=\/; .*HttpOnly; Secure; SameSite=Lax$/);
    expect(first.headers.getSetCookie()[0]).not.toContain(address.searchParams.get('state'));

    const done = await signIn(jar);
    expect([done.status, done.at]).toEqual([303, `${app.url}/console`]);
    // The browser still has the cookie of the first sign-in, which was not completed.
    expect(jar.header.match(/console-sign-in/g)).toHaveLength(1);
    expect(await session(jar)).toMatchObject({ username: 'maria', scopes: ['admin'], account_codes: [] });
    expect((await call(jar, '/admin/users')).status).toBe(200);
    expect((await call(jar, '/console/session')).body.sign_in).toEqual({ password: false, organisation: true });
  });

  it("a sign-in grants the `support` scope for each existing account whose code is in one of the person's group names", async () => {
    const groups = [`exam-support-${account}`, 'exam-support-GONE'];
    await provider.person({ sub: 'person-2', email: 'jo.doe@example.org', groups });
    const { jar } = await signIn();
    expect(await session(jar)).toMatchObject({
      username: 'jo.doe@example.org',
      scopes: ['support'],
      account_codes: [account],
    });
    expect((await call(jar, `/admin/error-queue?account_code=${account}`)).status).toBe(200);
    expect((await call(jar, `/admin/error-queue?account_code=${other}`)).status).toBe(403);
    expect((await call(jar, '/admin/users')).status).toBe(403);
  });

  it("each sign-in reads the person's groups, and removes the rights of a group that the person has left", async () => {
    const person = { sub: 'person-3', preferred_username: 'kim' };
    await provider.person({ ...person, groups: ['exam-admins'] });
    const { jar } = await signIn();
    await provider.person({ ...person, groups: `exam-support-${other}` });
    const again = await signIn();
    expect(await session(again.jar)).toMatchObject({ username: 'kim', scopes: ['support'], account_codes: [other] });
    expect(await session(jar)).toBeNull();

    await provider.person({ ...person, groups: ['staff'] });
    const refused = await signIn();
    expect(refused.status).toBe(403);
    expect(refused.page).toContain('<h1>You have no access</h1>');
    expect(await session(refused.jar)).toBeNull();
    expect(await session(again.jar)).toBeNull();
  });

  it('the sign-in of a person without a matching group is refused, and no user is created', async () => {
    await provider.person({ sub: 'person-4', preferred_username: 'stranger' });
    const { status, page, jar } = await signIn();
    expect(status).toBe(403);
    expect(page).toContain('none of your groups');
    expect(await session(jar)).toBeNull();
    expect(await app.given.sql(`SELECT FROM users WHERE username = 'stranger'`)).toEqual([]);
  });

  it('a sign-in through the identity provider never uses the local user with the same name', async () => {
    const local = await new OAuth(app).login({ scopes: ['admin'] });
    await provider.person({ sub: 'person-5', preferred_username: local.username, groups: [`exam-support-${account}`] });
    const { jar } = await signIn();
    const { username, scopes } = await session(jar);
    expect(username).toMatch(new RegExp(`^${local.username}-[0-9a-f]{8}$`));
    expect(scopes).toEqual(['support']);
    const [kept] = await app.given.sql('SELECT scopes FROM users WHERE username = $1', [local.username]);
    expect(kept).toEqual({ scopes: ['admin'] });
    const second = await signIn();
    expect((await session(second.jar)).username).toBe(username);
  });

  it('a sign-in through the identity provider gives no user a username that is reserved in the audit log', async () => {
    await provider.person({ sub: 'person-10', preferred_username: 'system', groups: ['exam-admins'] });
    expect((await session((await signIn()).jar)).username).toBe('person-10');
  });

  it('the sign-in of a user who was disabled in the service is refused', async () => {
    await provider.person({ sub: 'person-6', preferred_username: 'lee', groups: ['exam-admins'] });
    const { jar } = await signIn();
    await app.given.sql(`UPDATE users SET disabled = true WHERE username = 'lee'`);
    expect(await session(jar)).toBeNull();
    expect((await signIn()).status).toBe(403);
  });

  it('a response of the identity provider is accepted once, and only in the browser that began the sign-in', async () => {
    await provider.person({ sub: 'person-7', preferred_username: 'noor', groups: ['exam-admins'] });
    const jar = new CookieJar();
    const [, address] = await jar.follow(start(), isCallback);
    for (const stranger of [new CookieJar(), (await begun()).jar]) {
      const response = await stranger.visit(address);
      expect([response.status, await session(stranger)]).toEqual([400, null]);
      expect(await response.text()).toContain('Please sign in again');
    }
    const kept = jar.header;
    expect((await jar.visit(address)).status).toBe(303);
    // The test repeats the provider's callback with the same code and the same cookie.
    const again = await fetch(address, { redirect: 'manual', headers: { cookie: kept } });
    expect(again.status).toBe(400);
    expect(again.headers.getSetCookie().some((line) => line.startsWith('__Host-console-session='))).toBe(false);
    const tampered = new URL(address);
    tampered.searchParams.set('state', 'x'.repeat(43));
    expect((await fetch(tampered, { redirect: 'manual', headers: { cookie: kept } })).status).toBe(400);
  });

  it('a sign-in is completed once, even if two processes receive its callback at the same moment', async () => {
    await provider.person({ sub: 'person-12', preferred_username: 'once', groups: ['exam-admins'] });
    const second = await startApp({
      databaseUrl: app.databaseUrl,
      env: { ...settings(), BASE_URL: app.url, SECRETS_KEY: app.config.secrets.keys[0].toString('base64') },
    });
    const { port } = second.app.getHttpServer().address() as { port: number };
    try {
      const jar = new CookieJar();
      const [, address] = await jar.follow(start(), isCallback);
      const headers = { cookie: jar.header };
      const elsewhere = address.replace(app.url, `http://127.0.0.1:${port}`);
      const answers = await Promise.all(
        [address, elsewhere, address, elsewhere].map((each) => fetch(each, { redirect: 'manual', headers })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400, 400]);
      // A sign-in that the identity provider refused also counts as completed, so its state cannot be used again.
      const refused = new CookieJar();
      await refused.visit(start());
      const state = new URL((await refused.visit(start())).headers.get('location')!).searchParams.get('state')!;
      const denied = `${app.url}${CALLBACK}?error=access_denied&state=${state}&iss=${encodeURIComponent(provider.issuer)}`;
      const cookie = refused.header;
      expect((await fetch(denied, { redirect: 'manual', headers: { cookie } })).status).toBe(403);
      expect((await fetch(denied, { redirect: 'manual', headers: { cookie } })).status).toBe(400);
    } finally {
      await second.close();
    }
  });

  it('two tabs of a browser can sign in at the same time, and the number of cookies for unfinished sign-ins is limited', async () => {
    await provider.person({ sub: 'person-13', preferred_username: 'tabs', groups: ['exam-admins'] });
    const jar = new CookieJar();
    const first = await jar.visit(start());
    const second = await jar.visit(start());
    for (const tab of [first, second]) {
      const [response, at] = await jar.follow(tab.headers.get('location')!, isConsole);
      expect([response.status, at]).toEqual([303, `${app.url}/console`]);
    }
    expect(await session(jar)).toMatchObject({ username: 'tabs' });
    for (let tab = 0; tab < 12; tab++) await jar.visit(start());
    expect(jar.header.match(/console-sign-in/g)).toHaveLength(5);
  });

  it('the audit log records only the rights that groups added or removed at the sign-in', async () => {
    const person = { sub: 'person-14', preferred_username: 'audited' };
    const changed = async () => {
      const rows = await app.given.sql(
        `SELECT action, changed FROM audit_log WHERE subject = 'audited' AND actor = 'audited'
           AND action IN ('user.create', 'user.update') ORDER BY id`,
      );
      return rows.map(({ action, changed: names }) => [action, names]);
    };
    await provider.person({ ...person, groups: ['exam-admins'] });
    await signIn();
    await signIn();
    await provider.person({ ...person, groups: ['exam-admins', `exam-support-${account}`] });
    await signIn();
    await provider.person({ ...person, groups: ['exam-admins', 'exam-support-GONE', `exam-support-${other}`] });
    await signIn();
    await provider.person({ ...person, groups: [] });
    expect((await signIn()).status).toBe(403);
    expect(await changed()).toEqual([
      ['user.create', ['scopes']],
      ['user.update', ['scopes', 'account_codes']],
      ['user.update', ['account_codes']],
      ['user.update', ['scopes', 'account_codes']],
    ]);
  });

  it("a sign-in is refused, and changes nothing, when the identity provider does not send the person's groups", async () => {
    const person = { sub: 'person-15', preferred_username: 'many' };
    await provider.person({ ...person, groups: ['exam-admins'] });
    const { jar } = await signIn();
    for (const claims of [
      { _claim_names: { groups: 'src1' } },
      { groups: ['exam-admins', 7] },
      { groups: [{ name: 'exam-admins' }] },
    ]) {
      await provider.person({ ...person, ...claims });
      const { status, page } = await signIn();
      expect([status, page.includes('<h1>Your groups are not known</h1>')]).toEqual([403, true]);
    }
    expect(await session(jar)).toMatchObject({ username: 'many', scopes: ['admin'] });
  });

  it.each(['exam-support-A\u0000B', 'exam-support-\ud800', `exam-support-${'A'.repeat(1000)}`])(
    'a sign-in through the identity provider grants access to no account for the group %j',
    async (group) => {
      await provider.person({ sub: 'person-16', preferred_username: 'odd\u0000', groups: [group, 'exam-admins'] });
      expect(await session((await signIn()).jar)).toMatchObject({ username: 'odd-', scopes: ['admin'] });
    },
  );

  it.each([' ', 'ü', 'x'.repeat(256), 'a\u0007b'])('a sign-in with the subject %j is refused', async (sub) => {
    await provider.person({ sub, preferred_username: 'nobody-at-all', groups: ['exam-admins'] });
    const { status, jar } = await signIn();
    expect([status, await session(jar)]).toEqual([502, null]);
    expect(await app.given.sql(`SELECT FROM users WHERE username = 'nobody-at-all'`)).toEqual([]);
  });

  it("the last operator who can sign in keeps the `admin` scope, even if none of the operator's groups grants it any longer", async () => {
    const person = { sub: 'person-17', preferred_username: 'last' };
    await provider.person({ ...person, groups: ['exam-admins'] });
    const { jar } = await signIn();
    await app.given.sql(
      `UPDATE users SET disabled = true WHERE username IN (SELECT username FROM operator_identities) AND username <> 'last'`,
    );
    await new OAuth(app).login({ scopes: ['admin'] });
    for (const groups of [[], [`exam-support-${account}`]]) {
      await provider.person({ ...person, groups });
      const { status, page } = await signIn();
      expect([status, page.includes('<h1>You are the last operator</h1>')]).toEqual([409, true]);
    }
    expect(await session(jar)).toMatchObject({ username: 'last', scopes: ['admin'] });
    await provider.person({ sub: 'person-18', preferred_username: 'next', groups: ['exam-admins'] });
    const next = await signIn();
    await provider.person({ ...person, groups: [] });
    expect((await signIn()).status).toBe(403);
    expect(await session(jar)).toBeNull();

    const put = await app.call('PUT', '/admin/users/next', {
      body: { password: 'eleven slow otters sing' },
      headers: { ...FROM_CONSOLE, cookie: next.jar.header },
    });
    expect([put.status, put.body.errors]).toMatchObject([400, [{ code: 'password_elsewhere' }]]);
  });

  it('the sign-in page shows that the identity provider refused the sign-in or cannot be reached', async () => {
    await provider.person(null);
    const { status, page } = await signIn();
    expect([status, page.includes('You were not signed in')]).toEqual([403, true]);
    const without = await startApp({
      databaseUrl: app.databaseUrl,
      env: {
        OIDC_ISSUER: 'http://127.0.0.1:1',
        OIDC_CLIENT_ID: 'console',
        OIDC_CLIENT_SECRET: 'x',
        OIDC_ADMIN_GROUP: 'x',
      },
    });
    try {
      const response = await fetch(`${without.url}/console/sign-in`, { redirect: 'manual' });
      expect(response.status).toBe(502);
      expect(await response.text()).toContain('cannot be reached');
    } finally {
      await without.close();
    }
  });
});

describe('signing out', () => {
  const signOut = (jar: CookieJar, path: string) =>
    app.call('DELETE', path, { headers: { ...FROM_CONSOLE, cookie: jar.header } });

  it.each(['/console/session', '/console/sessions'])(
    'DELETE %s returns the sign-out address of the identity provider if the request asks for it',
    async (path) => {
      await provider.person({ sub: 'person-8', preferred_username: 'robin', groups: ['exam-admins'] });
      const { jar } = await signIn();
      const answer = await signOut(jar, `${path}?organisation=true`);
      const address = new URL(answer.body.organisation as string);
      expect([answer.status, address.origin]).toEqual([200, provider.issuer]);
      expect(Object.fromEntries(address.searchParams)).toEqual({
        client_id: 'console',
        post_logout_redirect_uri: `${app.url}/console`,
      });
      expect(await session(jar)).toBeNull();

      // The identity provider does not ask for a password, because it still has a session with the browser.
      await provider.person(null);
      expect((await signIn(jar)).status).toBe(303);
      const [page, at] = await jar.follow(address.href);
      const [, xsrf] = /name="xsrf" value="([^"]+)"/.exec(await page.text())!;
      const confirmed = await jar.post(new URL('/session/end/confirm', at).href, { xsrf, logout: 'yes' });
      expect(confirmed.headers.get('location')).toBe(`${app.url}/console`);
      expect((await signIn(jar)).status).toBe(403);
    },
  );

  it("a sign-out returns the identity provider's sign-out address only on request, and never to a user who signed in by password", async () => {
    await provider.person({ sub: 'person-9', preferred_username: 'sam', groups: ['exam-admins'] });
    const { jar } = await signIn();
    const plain = await signOut(jar, '/console/session');
    expect([plain.status, plain.text]).toEqual([204, '']);
    const nobody = await signOut(jar, '/console/session?organisation=true');
    expect([nobody.status, nobody.body]).toEqual([200, { organisation: null }]);
    const forged = await app.call('DELETE', '/console/session?organisation=true', {
      headers: { cookie: (await signIn()).jar.header },
    });
    expect(forged.body).toEqual({ organisation: null });
    expect((await signOut(jar, '/console/session?organisation=yes')).status).toBe(400);
  });
});

describe('signing in and out in a browser', () => {
  it('signing out at the identity provider ends both sessions, and the next visit requires a new sign-in', async () => {
    await provider.person({ sub: 'person-11', preferred_username: 'alex', groups: ['exam-admins'] });
    const browser = await startBrowser();
    try {
      const { page } = await openPage(browser);
      const button = (name: string) => page.getByRole('button', { name, exact: true });
      const heading = (name: string) => page.getByRole('heading', { level: 1, name });
      await page.goto(`${app.url}/console`);
      await button('Sign in with your organisation').click();
      await heading('Overview').waitFor();

      // Signs out of the console, but not of the identity provider. The session at the provider continues, so the next
      // sign-in needs no password.
      await button('Sign out').click();
      await heading('Sign in').waitFor();
      await provider.person(null);
      await button('Sign in with your organisation').click();
      await heading('Overview').waitFor();

      await button('Sign out of your organisation too').click();
      await page.waitForURL(`${provider.issuer}/**`);
      await button('Yes, sign me out').click();
      await page.waitForURL(`${app.url}/console`);
      await heading('Sign in').waitFor();
      await button('Sign in with your organisation').click();
      await heading('You were not signed in').waitFor();
    } finally {
      await browser.close();
    }
  });

  it('a partner can sign in with a password even under OPERATOR_PASSWORDS=off, but an operator cannot', async () => {
    const { username, password } = await new OAuth(app).login({ scopes: ['partner'] });
    const browser = await startBrowser();
    try {
      const { page } = await openPage(browser);
      await page.goto(`${app.url}/console`);
      await page.getByText('Partners: sign in with a password').click();
      await page.getByLabel('User name').fill(username);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('link', { name: 'My subscriptions' }).waitFor();
    } finally {
      await browser.close();
    }
  });

  it('the console offers a local user no sign-out at the identity provider', async () => {
    const plain = await startApp({
      env: {
        OIDC_ISSUER: provider.issuer,
        OIDC_CLIENT_ID: 'console',
        OIDC_CLIENT_SECRET: 'a-secret-of-the-console',
        OIDC_ADMIN_GROUP: 'exam-admins',
      },
    });
    const driver = await ConsoleDriver.start(plain);
    try {
      await driver.title('Overview');
      await driver.button('Sign out').waitFor();
      expect(await driver.button('Sign out of your organisation too').count()).toBe(0);
    } finally {
      await driver.stop();
      await plain.close();
    }
  });
});

it('the console offers no sign-in through the identity provider when the OIDC settings are missing', async () => {
  const plain = await startApp({ databaseUrl: app.databaseUrl });
  try {
    for (const path of ['/console/sign-in', CALLBACK]) expect((await plain.call('GET', path)).status).toBe(404);
  } finally {
    await plain.close();
  }
});

async function begun(): Promise<{ jar: CookieJar }> {
  const jar = new CookieJar();
  await jar.visit(start());
  return { jar };
}
