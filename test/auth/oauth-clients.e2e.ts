/** Runs independent OAuth clients, unchanged, against the token service. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { ResourceOwnerPassword } from 'simple-oauth2';
import { startApp, type TestApp } from '../support/app';
import { OAuth, type Login } from '../support/oauth';

const run = promisify(execFile);

let app: TestApp;
let login: Login;

beforeAll(async () => {
  app = await startApp();
  login = await new OAuth(app).login({ scopes: ['read', 'create', 'update'] });
});
afterAll(() => app.close());

const knock = async (token: string) => (await new OAuth(app).knock(login, token)).status;

it('oauth4webapi discovers the server, gets, refreshes, introspects and revokes tokens, and reports error responses', async () => {
  const options = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(app.url);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' }),
  );
  const client: oauth.Client = { client_id: login.consumer_key };
  const secret = oauth.ClientSecretBasic(login.consumer_secret);
  const byPassword = (password: string, authentication = secret) =>
    oauth.genericTokenEndpointRequest(
      server,
      client,
      authentication,
      'password',
      { username: login.username, password, scope: 'read create' },
      options,
    );

  const granted = await oauth.processGenericTokenEndpointResponse(server, client, await byPassword(login.password));
  expect(granted).toMatchObject({ token_type: 'bearer', scope: 'create read', expires_in: 3600 });
  expect(await knock(granted.access_token)).toBe(404);

  const refreshed = await oauth.processRefreshTokenResponse(
    server,
    client,
    await oauth.refreshTokenGrantRequest(server, client, secret, granted.refresh_token!, options),
  );
  expect(refreshed.refresh_token).not.toBe(granted.refresh_token);

  const introspect = async (token: string) =>
    oauth.processIntrospectionResponse(
      server,
      client,
      await oauth.introspectionRequest(server, client, secret, token, options),
    );
  expect(await introspect(refreshed.access_token)).toMatchObject({
    active: true,
    client_id: login.consumer_key,
    username: login.username,
    iss: app.url,
  });
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, secret, refreshed.refresh_token!, options),
  );
  expect(await introspect(refreshed.access_token)).toEqual({ active: false });
  expect(await knock(granted.access_token)).toBe(401);

  await expect(
    oauth.processGenericTokenEndpointResponse(server, client, await byPassword('wrong')),
  ).rejects.toMatchObject({ error: 'invalid_grant', status: 400 });
  // When the library receives a 401, it reads the `WWW-Authenticate` header before the body.
  await expect(
    oauth.processGenericTokenEndpointResponse(
      server,
      client,
      await byPassword(login.password, oauth.ClientSecretBasic('wrong')),
    ),
  ).rejects.toMatchObject({ cause: [{ scheme: 'basic', parameters: { realm: expect.any(String) } }] });
});

it('openid-client discovers the server, gets, refreshes, introspects and revokes tokens, and calls the API', async () => {
  const config = await openid.discovery(
    new URL(app.url),
    login.consumer_key,
    undefined,
    openid.ClientSecretBasic(login.consumer_secret),
    { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
  );
  expect(config.serverMetadata().token_endpoint).toBe(`${app.url}/token`);
  const granted = await openid.genericGrantRequest(config, 'password', {
    username: login.username,
    password: login.password,
  });
  expect(granted.expiresIn()).toBeGreaterThan(3500);
  const refreshed = await openid.refreshTokenGrant(config, granted.refresh_token!, { scope: 'read' });
  expect(refreshed.scope).toBe('read');
  const resource = new URL(`/accounts/${login.account}/candidates/nobody`, app.url);
  const answer = await openid.fetchProtectedResource(config, refreshed.access_token, resource, 'GET');
  expect(answer.status).toBe(404);
  expect((await openid.tokenIntrospection(config, refreshed.access_token)).active).toBe(true);
  await openid.tokenRevocation(config, refreshed.access_token);
  expect((await openid.tokenIntrospection(config, refreshed.access_token)).active).toBe(false);
  await expect(openid.fetchProtectedResource(config, refreshed.access_token, resource, 'GET')).rejects.toMatchObject({
    cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token' } }],
  });
  await expect(openid.refreshTokenGrant(config, granted.refresh_token!)).rejects.toMatchObject({
    error: 'invalid_grant',
  });
});

// The library parses every response as JSON, even the response to a revocation, and throws an error if the response is
// not JSON.
it('simple-oauth2 gets and refreshes tokens, revokes one token or both tokens, and reports error responses', async () => {
  const clientWith = (secret: string) =>
    new ResourceOwnerPassword({
      client: { id: login.consumer_key, secret },
      auth: { tokenHost: app.url, tokenPath: '/token', revokePath: '/revoke' },
    });
  const { username, password } = login;
  const client = clientWith(login.consumer_secret);

  const granted = await client.getToken({ username, password, scope: 'read create' });
  expect(granted.token).toMatchObject({ token_type: 'Bearer', scope: 'create read', expires_in: 3600 });
  expect(await knock(granted.token.access_token)).toBe(404);

  const refreshed = await granted.refresh({ scope: 'read' });
  expect(refreshed.token.scope).toBe('read');
  // Revoking an access token does not revoke its refresh token (RFC 7009 §2.1).
  expect(await refreshed.revoke('access_token')).toEqual({});
  expect(await knock(refreshed.token.access_token)).toBe(401);
  const last = await refreshed.refresh();
  expect(await knock(last.token.access_token)).toBe(404);

  await last.revokeAll();
  expect(await knock(last.token.access_token)).toBe(401);
  await expect(last.refresh()).rejects.toMatchObject({ data: { payload: { error: 'invalid_grant' } } });
  // Revoking an expired token is not an error (RFC 7009 §2.2).
  await last.revokeAll();

  await expect(client.getToken({ username, password: 'wrong' })).rejects.toMatchObject({
    output: { statusCode: 400 },
    data: { payload: { error: 'invalid_grant' } },
  });
  const stranger = clientWith('wrong');
  await expect(stranger.getToken({ username, password })).rejects.toMatchObject({
    output: { statusCode: 401 },
    data: { payload: { error: 'invalid_client' } },
  });
});

it('the curl command in the specification gets a token, whatever characters the password contains', async () => {
  const commands = new OAuth(app);
  const odd = await commands.login({ scopes: ['read'] });
  const { stdout: simple } = await run('curl', [
    '-sS',
    '-u',
    `${login.consumer_key}:${login.consumer_secret}`,
    '-d',
    `grant_type=password&username=${login.username}&scope=read`,
    '--data-urlencode',
    `password=${login.password}`,
    `${app.url}/token`,
  ]);
  const { access_token } = JSON.parse(simple) as { access_token: string };
  const { stdout } = await run('curl', [
    '-sS',
    '-o',
    '/dev/null',
    '-w',
    '%{http_code}',
    '-H',
    `Authorization: Bearer ${access_token}`,
    `${app.url}/accounts/${login.account}/candidates/nobody`,
  ]);
  expect(stdout).toBe('404');

  const password = ` !"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~ äß🔑`;
  await app.call('PUT', `/admin/users/${odd.username}`, { token: await app.given.operator(), body: { password } });
  const { stdout: encoded } = await run('curl', [
    '-sS',
    '-u',
    `${odd.consumer_key}:${odd.consumer_secret}`,
    '-d',
    `grant_type=password&username=${odd.username}`,
    '--data-urlencode',
    `password=${password}`,
    `${app.url}/token`,
  ]);
  expect(JSON.parse(encoded)).toMatchObject({ token_type: 'Bearer', scope: 'read' });
});
