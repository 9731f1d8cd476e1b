import { CommandBus } from '@nestjs/cqrs';
import { runAdminCommand } from '../../src/admin-cli';
import { UpdateApplication, UpdateUser } from '../../src/auth/auth.commands';
import { SCOPES } from '../../src/platform/context/caller';
import { startApp, type Answer, type TestApp } from '../support/app';
import { CookieJar } from '../support/identity-provider';
import { OAuth, type Login } from '../support/oauth';

const CONSOLE = '/admin/applications/CONSOLEOFTHISSERVICE';
const FROM_CONSOLE = { 'console-request': '1' };

const refusal = ({ status, body }: Answer) => [status, body?.code];

/** Returns a browser that is signed in to the console with a password. */
async function signedIn(app: TestApp, { username, password }: Login): Promise<CookieJar> {
  const jar = new CookieJar();
  const answer = await app.call('POST', '/console/session', { body: { username, password }, headers: FROM_CONSOLE });
  expect(answer.status).toBe(204);
  jar.keep(answer.headers);
  return jar;
}

const inConsole = (app: TestApp, jar: CookieJar, path: string) =>
  app.call('GET', path, { headers: { ...FROM_CONSOLE, cookie: jar.header } });

describe('the last operator', () => {
  let app: TestApp;
  let first: Login;
  let second: Login;
  let token: string;

  beforeEach(async () => {
    app = await startApp();
    const oauth = new OAuth(app);
    first = await oauth.login({ scopes: SCOPES });
    second = await oauth.login({ scopes: ['admin'] });
    token = (await oauth.tokens(first)).access_token;
  });
  afterEach(() => app.close());

  const put = (username: string, body: object) => app.call('PUT', `/admin/users/${username}`, { token, body });

  it.each([{ disabled: true }, { scopes: ['read'] }, { scopes: null }])(
    'refuses a change to a user that would leave no operator (%j), in the API and on the command line',
    async (change) => {
      expect((await put(second.username, change)).status).toBe(200);
      const before = (await app.call('GET', `/admin/users/${first.username}`, { token })).body;
      expect(refusal(await put(first.username, { ...change, account_codes: [] }))).toEqual([409, 'last_operator']);
      expect((await app.call('GET', `/admin/users/${first.username}`, { token })).body).toEqual(before);
      const write = jest.spyOn(process.stderr, 'write').mockImplementation(() => true);
      try {
        expect(await runAdminCommand(['disable-user', '--username', first.username], app.app)).toBe(1);
        expect(String(write.mock.calls[0][0])).toContain('without an operator');
      } finally {
        write.mockRestore();
      }
      expect((await put(first.username, { scopes: ['admin'] })).status).toBe(200);
      await expect(app.given.sql('UPDATE users SET disabled = true')).rejects.toThrow('no operator would be left');
    },
  );

  it('when the last two operators disable each other simultaneously in two processes, one of them stays enabled', async () => {
    const other = await startApp({ databaseUrl: app.databaseUrl });
    try {
      for (let round = 0; round < 5; round++) {
        const outcomes = await Promise.allSettled([
          app.app.get(CommandBus, { strict: false }).execute(new UpdateUser(second.username, { disabled: true })),
          other.app.get(CommandBus, { strict: false }).execute(new UpdateUser(first.username, { disabled: true })),
        ]);
        expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
        const refused = outcomes.find((outcome) => outcome.status === 'rejected');
        expect(refused?.reason).toMatchObject({ code: 'last_operator' });
        await app.given.sql('UPDATE users SET disabled = false');
      }
    } finally {
      await other.close();
    }
  });

  it('refuses to disable the last operator who can sign in by password or at the configured identity provider', async () => {
    const { username } = second;
    await app.given.sql(`INSERT INTO operator_identities VALUES ('https://id.example', 'person', $1)`, [username]);
    // The process under test has no identity provider, so users of a provider do not count as operators who can sign
    // in.
    expect(refusal(await put(first.username, { disabled: true }))).toEqual([409, 'last_operator']);
    const elsewhere = await startApp({
      databaseUrl: app.databaseUrl,
      env: {
        OPERATOR_PASSWORDS: 'off',
        OIDC_ISSUER: 'https://id.example',
        OIDC_CLIENT_ID: 'console',
        OIDC_CLIENT_SECRET: 'x',
        OIDC_ADMIN_GROUP: 'admins',
      },
    });
    try {
      const commands = elsewhere.app.get(CommandBus, { strict: false });
      await expect(commands.execute(new UpdateUser(username, { disabled: true }))).rejects.toMatchObject({
        code: 'last_operator',
      });
      await commands.execute(new UpdateUser(first.username, { disabled: true }));
    } finally {
      await elsewhere.close();
    }
  });

  it('the last operator can always use the console: its application can neither be disabled nor lose the admin scope', async () => {
    await signedIn(app, first);
    for (const body of [{ disabled: true }, { scopes: ['support'] }, { scopes: null }, { scopes: [], name: 'Other' }])
      expect(refusal(await app.call('PUT', CONSOLE, { token, body }))).toEqual([409, 'console_application']);
    expect((await app.call('GET', CONSOLE, { token })).body).toMatchObject({ name: 'Console', disabled: false });
    // An operator may remove any scope of the console application except `admin`. Operators can still sign in
    // afterwards, and have the remaining scopes.
    expect((await app.call('PUT', CONSOLE, { token, body: { scopes: ['admin'] } })).status).toBe(200);
    const jar = await signedIn(app, first);
    expect((await inConsole(app, jar, '/console/session')).body.session.scopes).toEqual(['admin']);
    expect((await inConsole(app, jar, '/admin/users')).status).toBe(200);
  });
});

describe('a right that was removed and granted again', () => {
  let app: TestApp;
  let oauth: OAuth;
  let login: Login;
  let admin: string;

  beforeAll(async () => {
    app = await startApp();
    oauth = new OAuth(app);
    admin = await app.given.operator();
  });
  beforeEach(async () => {
    login = await oauth.login({ scopes: [...SCOPES] });
  });
  afterAll(() => app.close());

  const user = (changes: ConstructorParameters<typeof UpdateUser>[1]) => new UpdateUser(login.username, changes);
  const application = (changes: ConstructorParameters<typeof UpdateApplication>[1]) =>
    new UpdateApplication(login.consumer_key, changes);

  it.each([
    ['a scope of the user', () => user({ scopes: ['read'] }), () => user({ scopes: SCOPES })],
    ['an account of the user', () => user({ accountCodes: [] }), () => user({ accountCodes: [login.account] })],
    ['the user', () => user({ disabled: true }), () => user({ disabled: false })],
    ['a scope of the application', () => application({ scopes: ['read'] }), () => application({ scopes: SCOPES })],
    ['the application', () => application({ disabled: true }), () => application({ disabled: false })],
  ] as const)(
    'a token stays revoked after a right of the token was removed and granted again: %s',
    async (_what, take, give) => {
      const tokens = await oauth.tokens(login, { scope: 'read update' });
      await oauth.commands.execute(take());
      await oauth.commands.execute(give());
      expect((await oauth.knock(login, tokens.access_token)).status).toBe(401);
      expect((await oauth.byRefreshToken(login, tokens.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
      const { access_token } = await oauth.tokens(login);
      expect((await oauth.knock(login, access_token)).status).toBe(404);
    },
  );

  it.each([
    ['a scope', () => user({ scopes: ['admin'] }), () => user({ scopes: SCOPES })],
    ['an account', () => user({ accountCodes: [] }), () => user({ accountCodes: [login.account] })],
    ['the user', () => user({ disabled: true }), () => user({ disabled: false })],
  ] as const)(
    'a console session stays invalid after a right of the session was removed and granted again: %s',
    async (_what, take, give) => {
      const jar = await signedIn(app, login);
      await oauth.commands.execute(take());
      await oauth.commands.execute(give());
      expect((await inConsole(app, jar, '/admin/jobs')).status).toBe(401);
    },
  );

  it('tokens stay valid when a right that they did not have is removed', async () => {
    const { access_token } = await oauth.tokens(login, { scope: 'read' });
    await oauth.commands.execute(user({ scopes: ['read', 'create'], accountCodes: [login.account] }));
    await oauth.commands.execute(application({ scopes: ['read'], name: 'Other' }));
    expect((await oauth.knock(login, access_token)).status).toBe(404);
  });

  it('the audit log records the removal of a right, even when the command line removed the right', async () => {
    await app.call('PUT', `/admin/users/${login.username}`, { token: admin, body: { scopes: null } });
    await runAdminCommand(['disable-user', '--username', login.username], app.app);
    const rows = await app.given.sql(
      `SELECT changed FROM audit_log WHERE action = 'user.update' AND subject = $1 ORDER BY id`,
      [login.username],
    );
    expect(rows).toEqual([{ changed: ['scopes'] }, { changed: ['disabled'] }]);
  });
});

describe('OPERATOR_PASSWORDS=off', () => {
  it('OPERATOR_PASSWORDS=off permanently revokes tokens that operators obtained with a password, but no tokens of clients', async () => {
    const app = await startApp();
    const oauth = new OAuth(app);
    const [staff, client] = [await oauth.login({ scopes: ['read', 'support'] }), await oauth.login()];
    const [theirs, clients] = [await oauth.tokens(staff, { scope: 'read' }), await oauth.tokens(client)];
    const jar = await signedIn(app, staff);
    const off = await startApp({
      databaseUrl: app.databaseUrl,
      env: { OPERATOR_PASSWORDS: 'off', SECRETS_KEY: app.config.secrets.keys[0].toString('base64') },
    });
    try {
      const strict = new OAuth(off);
      expect((await strict.knock(staff, theirs.access_token)).status).toBe(401);
      expect((await strict.byRefreshToken(staff, theirs.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
      expect((await inConsole(off, jar, '/admin/jobs')).status).toBe(401);
      expect((await strict.byPassword(staff)).body).toMatchObject({ error: 'invalid_grant' });
      expect((await strict.knock(client, clients.access_token)).status).toBe(404);
      expect((await strict.byRefreshToken(client, clients.refresh_token)).status).toBe(200);
      // The process with `OPERATOR_PASSWORDS=off` has revoked these tokens. The process that allows operators'
      // passwords must refuse them as well.
      expect((await oauth.knock(staff, theirs.access_token)).status).toBe(401);
      expect((await inConsole(app, jar, '/admin/jobs')).status).toBe(401);

      // The process with `OPERATOR_PASSWORDS=off` also refuses tokens from a process that allows operators' passwords,
      // and tokens that a user got before becoming an operator.
      const late = await oauth.tokens(staff);
      expect((await strict.knock(staff, late.access_token)).status).toBe(401);
      expect((await strict.post('/introspect', staff, { token: late.refresh_token })).body).toEqual({ active: false });
      const risen = await strict.tokens(client);
      const change = (scopes: ('read' | 'support')[]) =>
        strict.commands.execute(new UpdateUser(client.username, { scopes }));
      await change(['read', 'support']);
      expect((await strict.knock(client, risen.access_token)).status).toBe(401);
      await change(['read']);
      expect((await strict.knock(client, risen.access_token)).status).toBe(401);
    } finally {
      await off.close();
      await app.close();
    }
  });

  it('refuses to set a new password for an operator while OPERATOR_PASSWORDS is off', async () => {
    const app = await startApp({ env: { OPERATOR_PASSWORDS: 'off' } });
    try {
      const token = await app.given.operatorOfProvider();
      const { username } = await new OAuth(app).login({ scopes: ['support'] });
      const put = (body: object) => app.call('PUT', `/admin/users/${username}`, { token, body });
      const password = 'eleven slow otters sing';
      const refused = await put({ password });
      expect([refused.status, refused.body.errors]).toMatchObject([400, [{ code: 'password_elsewhere' }]]);
      expect((await put({ password, scopes: ['read'] })).status).toBe(200);
      expect((await put({ password })).status).toBe(200);
    } finally {
      await app.close();
    }
  });
});
