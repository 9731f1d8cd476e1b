import { randomUUID } from 'node:crypto';
import { CLIENT_SCOPES, type Scope } from '../../src/platform/context/caller';
import { startApp, type Answer, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { OAuth, type Client } from '../support/oauth';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let oauth: OAuth;
let operator: string;
let account: string;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp();
  oauth = new OAuth(app);
  operator = await app.given.operator();
  account = await app.given.account();
  subscribed = await Subscribed.start(app);
});
afterAll(async () => {
  await subscribed.stop();
  await app.close();
});

const admin = (method: string, path: string, body?: unknown) =>
  app.call(method, `/admin/${path}`, { token: operator, body });
const machine = (scopes: readonly Scope[] = ['read', 'create'], accountCodes = [account]) =>
  oauth.application(scopes, ['client_credentials'], { accountCodes, subscriptionIds: [subscribed.id] });
const knock = async (token: string, at = account) =>
  (await app.call('GET', `/accounts/${at}/candidates/nobody`, { token })).status;
const tokenOf = async (client: Client, scope?: string): Promise<string> => {
  const answer = await oauth.ofApplication(client, scope === undefined ? {} : { scope });
  expect(answer.status).toBe(200);
  return answer.body.access_token;
};
const faultsOf = ({ status, body }: Answer) => [status, (body.errors ?? []).map((one: any) => [one.pointer, one.code])];

describe('the client_credentials grant (RFC 6749 §4.4)', () => {
  it('the client_credentials grant issues an access token for the accounts of the application, and no refresh token', async () => {
    const client = await machine();
    const answer = await oauth.ofApplication(client);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43,44}$/),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'create read',
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await knock(answer.body.access_token)).toBe(404);
    expect(await knock(answer.body.access_token, await app.given.account())).toBe(403);
  });

  it('by default, an application may not use the client_credentials grant, and gets unauthorized_client', async () => {
    const answer = await oauth.ofApplication(await oauth.application(['read']));
    expect([answer.status, answer.body.error]).toEqual([400, 'unauthorized_client']);
  });

  it('an application that has only the client_credentials grant may not use other grants', async () => {
    const client = await machine();
    const login = await oauth.login();
    for (const answer of [
      await oauth.byPassword({ ...login, ...client }),
      await oauth.byRefreshToken(client, 'A'.repeat(43)),
    ])
      expect([answer.status, answer.body.error]).toEqual([400, 'unauthorized_client']);
  });

  it('the client_credentials grant issues a token with the requested scopes, and refuses scopes that the application lacks', async () => {
    const client = await machine();
    expect((await oauth.ofApplication(client, { scope: 'read' })).body.scope).toBe('read');
    for (const scope of ['read update', 'admin', 'nothing', 'read  create']) {
      const answer = await oauth.ofApplication(client, { scope });
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_scope']);
    }
    const token = await tokenOf(client, 'create');
    expect(await knock(token)).toBe(403);
  });

  it('the audit log names the application as the actor for a client_credentials token; introspection returns no username', async () => {
    const client = await machine();
    const { given } = app;
    const scene = { account, testCode: await given.test(account), token: await tokenOf(client) };
    const record = await given.eligibility(scene);
    const trail = await eventually(async () => {
      const { body } = await admin('GET', `audit?actor=${client.consumer_key}`);
      if (body.length < 2) throw new Error('The audit entries are not yet there.');
      return body;
    });
    expect(trail.map((row: any) => [row.action, row.actor, row.application])).toEqual([
      ['eligibility.create', client.consumer_key, client.consumer_key],
      ['token.grant', client.consumer_key, client.consumer_key],
    ]);
    expect(trail[0].subject).toBe(record['svc_eligiblity_id']);
    const { body } = await oauth.post('/introspect', client, { token: scene.token });
    expect(body).toMatchObject({ active: true, client_id: client.consumer_key, sub: client.consumer_key });
    expect(body).not.toHaveProperty('username');
    expect((await oauth.post('/introspect', await machine(), { token: scene.token })).body).toEqual({ active: false });
  });

  it('an application can revoke its client_credentials tokens', async () => {
    const client = await machine();
    const [first, second] = [await tokenOf(client), await tokenOf(client)];
    expect((await oauth.post('/revoke', client, { token: first })).status).toBe(200);
    expect([await knock(first), await knock(second)]).toEqual([401, 404]);
  });

  it.each([
    ['disabled', { disabled: true }, { disabled: false }],
    ['without a scope of the token', { scopes: ['create'] }, { scopes: ['read', 'create'] }],
    ['without an account', { account_codes: [] }, { account_codes: ['A'] }],
    ['without the grant', { grants: ['password'] }, { grants: ['client_credentials'] }],
  ])(
    'the client_credentials tokens of an application that was %s stay revoked, even after the right is restored',
    async (_what, away, back) => {
      const client = await machine();
      const token = await tokenOf(client);
      expect(await knock(token)).toBe(404);
      expect((await admin('PUT', `applications/${client.consumer_key}`, away)).status).toBe(200);
      expect(await knock(token)).toBe(401);
      const again = 'account_codes' in back ? { account_codes: [account] } : back;
      expect((await admin('PUT', `applications/${client.consumer_key}`, again)).status).toBe(200);
      expect(await knock(token)).toBe(401);
      expect(await knock(await tokenOf(client))).toBe(404);
    },
  );

  it('the client_credentials tokens of an application stay valid when the application gets further rights', async () => {
    const client = await machine();
    const token = await tokenOf(client);
    const other = await app.given.account();
    const change = { scopes: [...CLIENT_SCOPES], account_codes: [account, other], subscription_ids: [subscribed.id] };
    expect((await admin('PUT', `applications/${client.consumer_key}`, change)).status).toBe(200);
    expect([await knock(token), await knock(token, other)]).toEqual([404, 404]);
  });
});

describe('the accounts and subscriptions of users and applications', () => {
  it('stores and returns the accounts and subscriptions of users and applications; an update that omits them keeps them', async () => {
    const body = {
      name: 'Partner',
      scopes: ['partner'],
      grants: ['client_credentials'],
      account_codes: [account],
      subscription_ids: [subscribed.id, subscribed.id],
    };
    const made = await admin('POST', 'applications', body);
    expect(made.status).toBe(201);
    const path = `applications/${made.body.consumer_key}`;
    const stored = { grants: ['client_credentials'], account_codes: [account], subscription_ids: [subscribed.id] };
    expect((await admin('GET', path)).body).toMatchObject(stored);
    expect((await admin('PUT', path, { name: 'Renamed' })).body).toMatchObject({ name: 'Renamed', ...stored });
    expect((await admin('PUT', path, { subscription_ids: null, grants: null })).body).toMatchObject({
      account_codes: [account],
      subscription_ids: [],
      grants: ['password', 'refresh_token'],
    });

    const username = app.given.unique('partner-');
    const user = { username, password: 'seven grey herons wait', scopes: ['partner'], account_codes: [] };
    const created = await admin('POST', 'users', { ...user, subscription_ids: [subscribed.id] });
    expect([created.status, created.body.subscription_ids]).toEqual([201, [subscribed.id]]);
    expect((await admin('PUT', `users/${username}`, { disabled: false })).body.subscription_ids).toEqual([
      subscribed.id,
    ]);
    expect((await admin('PUT', `users/${username}`, { subscription_ids: null })).body.subscription_ids).toEqual([]);
    const [change] = (await admin('GET', `audit?subject=${username}&limit=1`)).body;
    expect(change).toMatchObject({ action: 'user.update', changed: ['subscription_ids'] });
  });

  it('refuses to assign unknown or deleted accounts and subscriptions, unless the user or application has them already', async () => {
    const gone = await Subscribed.start(app);
    await gone.stop();
    const unknown = randomUUID();
    const ids = [subscribed.id, unknown, gone.id];
    const at = [400, [['/subscription_ids/1', 'subscription_not_found']]];
    const user = { password: 'seven grey herons wait', scopes: ['partner'], account_codes: [] };
    const names = [app.given.unique('partner-'), app.given.unique('partner-')];
    const create = (username: string, subscription_ids: string[]) =>
      admin('POST', 'users', { ...user, username, subscription_ids });
    expect(faultsOf(await create(names[0], ids))).toEqual(at);
    expect((await create(names[1], [gone.id])).status).toBe(201);
    expect(faultsOf(await admin('PUT', `users/${names[1]}`, { subscription_ids: ids }))).toEqual(at);
    const application = { name: 'Partner', scopes: ['partner'], grants: ['client_credentials'] };
    expect(faultsOf(await admin('POST', 'applications', { ...application, subscription_ids: ids }))).toEqual(at);
    expect(faultsOf(await admin('POST', 'applications', { ...application, account_codes: ['NOWHERE'] }))).toEqual([
      400,
      [['/account_codes/0', 'account_not_found']],
    ]);
    const client = await machine();
    expect(faultsOf(await admin('PUT', `applications/${client.consumer_key}`, { subscription_ids: ids }))).toEqual(at);

    expect((await admin('DELETE', `subscriptions/${gone.id}`)).status).toBe(204);
    expect((await create(names[0], [gone.id])).status).toBe(400);
    expect((await admin('PUT', `users/${names[1]}`, { subscription_ids: [gone.id] })).status).toBe(200);
  });

  it('a user cannot have the consumer key of an application as a username', async () => {
    const { consumer_key: username } = await machine();
    const answer = await admin('POST', 'users', { username, password: 'seven grey herons wait', scopes: ['read'] });
    expect([answer.status, answer.body.code]).toEqual([409, 'username_taken']);
  });
});
