import { UpdateApplication, UpdateUser } from '../../src/auth/auth.commands';
import { SCOPES } from '../../src/platform/context/caller';
import { startApp, type TestApp } from '../support/app';
import { CLIENT_SCOPES, OAuth, type Login } from '../support/oauth';

let app: TestApp;
let oauth: OAuth;
let login: Login;

beforeAll(async () => {
  app = await startApp();
  oauth = new OAuth(app);
});
beforeEach(async () => {
  login = await oauth.login();
});
afterAll(() => app.close());

const alive = async (token: string) => (await oauth.knock(login, token)).status === 404;

describe('POST /revoke (RFC 7009)', () => {
  it('POST /revoke with an access token revokes only this token', async () => {
    const { access_token, refresh_token } = await oauth.tokens(login);
    const answer = await oauth.post('/revoke', login, { token: access_token, token_type_hint: 'refresh_token' });
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('pragma')).toBe('no-cache');
    expect(await alive(access_token)).toBe(false);
    expect((await oauth.byRefreshToken(login, refresh_token)).status).toBe(200);
  });

  it('POST /revoke with a refresh token revokes its whole token family', async () => {
    const first = await oauth.tokens(login);
    const second = (await oauth.byRefreshToken(login, first.refresh_token)).body;
    expect((await oauth.post('/revoke', login, { token: second.refresh_token })).status).toBe(200);
    expect(await alive(first.access_token)).toBe(false);
    expect(await alive(second.access_token)).toBe(false);
    expect((await oauth.byRefreshToken(login, second.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('POST /revoke gives the same response to an unknown, malformed, revoked or valid token', async () => {
    const { access_token } = await oauth.tokens(login);
    for (const token of ['A'.repeat(43), 'no token', access_token, access_token])
      expect((await oauth.post('/revoke', login, { token, token_type_hint: 'unheard_of' })).status).toBe(200);
  });

  it("POST /revoke does not revoke another client's token", async () => {
    const { access_token, refresh_token } = await oauth.tokens(login);
    const other = await oauth.application();
    for (const token of [access_token, refresh_token]) {
      const answer = await oauth.post('/revoke', other, { token });
      expect([answer.status, answer.text]).toEqual([200, '{}']);
    }
    expect(await alive(access_token)).toBe(true);
    expect((await oauth.byRefreshToken(login, refresh_token)).status).toBe(200);
  });

  it('POST /revoke refuses a request without client credentials or without a token', async () => {
    expect((await oauth.post('/revoke', null, { token: 'x' })).body.error).toBe('invalid_client');
    expect((await oauth.post('/revoke', login, {})).body.error).toBe('invalid_request');
    expect((await app.call('GET', '/revoke')).status).toBe(405);
  });

  it('POST /revoke writes an audit row that names the user of the revoked token', async () => {
    const { access_token } = await oauth.tokens(login);
    await oauth.post('/revoke', login, { token: access_token });
    const rows = await app.given.sql(`SELECT actor FROM audit_log WHERE action = 'token.revoke' ORDER BY id DESC`);
    expect(rows[0]).toEqual({ actor: login.username });
  });
});

describe('POST /introspect (RFC 7662)', () => {
  const ask = async (token: string, client = login) => (await oauth.post('/introspect', client, { token })).body;

  it('POST /introspect returns the user, client, scope and lifetime of an access token', async () => {
    const now = Math.floor(Date.now() / 1000);
    const { access_token } = await oauth.tokens(login, { scope: 'update read' });
    const answer = await oauth.post('/introspect', login, { token: access_token });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body).toEqual({
      active: true,
      scope: 'read update',
      client_id: login.consumer_key,
      username: login.username,
      sub: login.username,
      token_type: 'Bearer',
      iat: expect.any(Number),
      exp: expect.any(Number),
      iss: app.url,
    });
    expect(Math.abs(answer.body.iat - now)).toBeLessThanOrEqual(5);
    expect(answer.body.exp - answer.body.iat).toBe(3600);
  });

  it('POST /introspect reports a refresh token as active while it can be used', async () => {
    const { refresh_token } = await oauth.tokens(login);
    const active = await ask(refresh_token);
    expect(active).toMatchObject({ active: true, client_id: login.consumer_key, username: login.username });
    expect(active.scope).toBe([...CLIENT_SCOPES].sort().join(' '));
    expect(active.exp - active.iat).toBe(86_400);
    await oauth.byRefreshToken(login, refresh_token);
    expect(await ask(refresh_token)).toEqual({ active: false });
  });

  it('POST /introspect reports every unusable token as inactive, without further members', async () => {
    const stranger = { ...login, ...(await oauth.application()) };
    const tokens = await oauth.tokens(login);
    expect(await ask(tokens.access_token, stranger)).toEqual({ active: false });
    expect(await ask(tokens.refresh_token, stranger)).toEqual({ active: false });
    expect(await ask('A'.repeat(43))).toEqual({ active: false });
    expect(await ask('no token')).toEqual({ active: false });
    await oauth.post('/revoke', login, { token: tokens.refresh_token });
    expect(await ask(tokens.access_token)).toEqual({ active: false });
    expect(await ask(tokens.refresh_token)).toEqual({ active: false });
  });

  it('POST /introspect reports a token as inactive as soon as its user is disabled or its application loses a scope of the token', async () => {
    const wide = await oauth.tokens(login);
    const narrow = await oauth.tokens(login, { scope: 'read' });
    await oauth.commands.execute(new UpdateApplication(login.consumer_key, { scopes: ['read'] }));
    expect(await ask(wide.access_token)).toEqual({ active: false });
    expect(await ask(wide.refresh_token)).toEqual({ active: false });
    expect(await ask(narrow.refresh_token)).toMatchObject({ active: true, scope: 'read' });
    await oauth.commands.execute(new UpdateUser(login.username, { disabled: true }));
    expect(await ask(narrow.refresh_token)).toEqual({ active: false });
  });

  it('POST /introspect refuses a request without client credentials or without a token', async () => {
    expect((await oauth.post('/introspect', null, { token: 'x' })).status).toBe(401);
    expect((await oauth.post('/introspect', login, {})).body.error).toBe('invalid_request');
  });
});

it('GET /.well-known/oauth-authorization-server returns the metadata of RFC 8414', async () => {
  const answer = await app.call('GET', '/.well-known/oauth-authorization-server');
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
  expect(answer.body).toEqual({
    issuer: app.url,
    token_endpoint: `${app.url}/token`,
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    revocation_endpoint: `${app.url}/revoke`,
    revocation_endpoint_auth_methods_supported: ['client_secret_basic'],
    introspection_endpoint: `${app.url}/introspect`,
    introspection_endpoint_auth_methods_supported: ['client_secret_basic'],
    grant_types_supported: ['password', 'refresh_token', 'client_credentials'],
    response_types_supported: [],
    scopes_supported: [...SCOPES],
    service_documentation: `${app.url}/docs`,
  });
});
