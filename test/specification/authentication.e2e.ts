import { startApp, type TestApp } from '../support/app';
import { OAuth, type Login } from '../support/oauth';
import { testSentences } from './sentences';

let app: TestApp;
let oauth: OAuth;
let login: Login;
beforeAll(async () => {
  app = await startApp();
  oauth = new OAuth(app);
  login = await oauth.login();
});
afterAll(() => app.close());

const form = () => ({ grant_type: 'password', username: login.username, password: login.password });
const member = (name: string, value: unknown) => async () => {
  const { status, body } = await oauth.byPassword(login, { scope: 'read' });
  expect([status, body[name]]).toEqual([200, value]);
};
const refused = async (changes: Record<string, string | undefined>) => {
  const fields = Object.entries({ ...form(), ...changes }).filter((field): field is [string, string] => !!field[1]);
  const { status, body } = await oauth.post('/token', login, Object.fromEntries(fields));
  expect(status).toBe(400);
  return body.error as string;
};
const search = (token?: string) => app.call('GET', `/accounts/${login.account}/eligibilities`, { token });

describe('the token service', () =>
  testSentences({
    '1.5': async () => {
      const { body } = await oauth.byPassword(login);
      expect((await search(body.access_token as string)).status).toBe(200);
      expect((await oauth.byRefreshToken(login, body.refresh_token as string)).status).toBe(200);
    },
    '1.6': async () => {
      const token = (await oauth.tokens(login))['access_token'];
      const path = `/accounts/${login.account}/candidates`;
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      expect((await app.call('POST', path, { token, body: 'test_code=A', headers })).status).toBe(415);
    },
    '8.1': async () => {
      expect((await oauth.post('/token', null, form())).status).toBe(401);
      expect((await oauth.post('/token', { ...login, consumer_secret: 'wrong' }, form())).status).toBe(401);
      expect((await oauth.post('/token', login, form())).status).toBe(200);
    },
    '8.2': async () => {
      const headers = { 'content-type': 'application/json' };
      const { status, body } = await oauth.post('/token', login, JSON.stringify(form()), headers);
      expect([status, body.error]).toEqual([400, 'invalid_request']);
    },
    '8.3': async () => {
      expect(await refused({ grant_type: undefined })).toBe('invalid_request');
      expect(await refused({ grant_type: 'magic' })).toBe('unsupported_grant_type');
    },
    '8.4': async () => expect(await refused({ username: undefined })).toBe('invalid_request'),
    '8.5': async () => {
      expect(await refused({ password: undefined })).toBe('invalid_request');
      expect(await refused({ password: 'wrong password' })).toBe('invalid_grant');
    },
    '8.6': async () => {
      expect((await oauth.byPassword(login)).body.scope.split(' ')).toContain('update');
      expect((await oauth.byPassword(login, { scope: 'read update' })).body.scope).toBe('read update');
    },
    '8.7': member('scope', 'read'),
    '8.8': member('token_type', 'Bearer'),
    '8.9': async () => {
      const { expires_in } = (await oauth.byPassword(login)).body;
      expect(Number.isInteger(expires_in) && expires_in > 0).toBe(true);
    },
    '8.10': member('refresh_token', expect.stringMatching(/.{40,}/)),
    '8.11': member('access_token', expect.stringMatching(/.{40,}/)),
  }));

describe('calls to the service', () =>
  testSentences({
    '10.1': async () => {
      const calls = [
        ['POST', `/accounts/${login.account}/candidates`],
        ['GET', `/accounts/${login.account}/candidates/C-1`],
        ['GET', `/accounts/${login.account}/candidates/C-1/eligibilities`],
        ['GET', `/accounts/${login.account}/candidates/C-1/tests/T-1`],
        ['PUT', `/accounts/${login.account}/candidates/C-1/tests/T-1`],
        ['DELETE', `/accounts/${login.account}/candidates/C-1/tests/T-1`],
        ['PUT', `/accounts/${login.account}/candidates/C-1/tests/T-1/vouchers`],
        ['GET', '/eligibilities/K7MWQ2XA/testLaunchInfo'],
        ['POST', '/registrations/registration/results'],
        ['PUT', `/accounts/${login.account}`],
      ];
      for (const [method, path] of calls) expect([path, (await app.call(method, path)).status]).toEqual([path, 401]);
    },
    '10.2': async () => {
      const operator = await app.given.operator();
      const change = (path: string, body: object) =>
        app.call('PUT', `/admin/${path}`, { token: operator, body }).then(({ status }) => expect(status).toBe(200));
      const other = await oauth.login();
      await change(`applications/${other.consumer_key}`, { disabled: true });
      expect((await oauth.byPassword(other)).status).toBe(401);
      await change(`applications/${other.consumer_key}`, { disabled: false });
      expect((await oauth.byPassword(other)).status).toBe(200);
      await change(`users/${other.username}`, { disabled: true });
      expect((await oauth.byPassword(other)).status).toBe(400);
    },
    '10.3': async () => {
      const { body } = await oauth.byPassword(login);
      expect(Object.keys(body as object)).toEqual(expect.arrayContaining(['access_token', 'refresh_token']));
    },
    '10.4': async () => {
      const token = (await oauth.tokens(login))['access_token'];
      expect((await search(token)).status).toBe(200);
      const { status } = await app.call('GET', `/accounts/${login.account}/eligibilities?access_token=${token}`);
      expect(status).toBe(401);
    },
    '10.5': async () => {
      const path = `/accounts/${login.account}/candidates/C-1/tests/T-1`;
      const update = async (scope: string) => {
        const { access_token: token } = await oauth.tokens(login, { scope });
        return (await app.call('PUT', path, { token, body: app.given.eligibilityBody('T-1') })).status;
      };
      expect(await update('read')).toBe(403);
      expect(await update('read update')).not.toBe(403);
    },
    '10.6': async () => {
      const { refresh_token } = await oauth.tokens(login);
      const { status, body } = await oauth.byRefreshToken(login, refresh_token);
      expect([status, (await search(body.access_token as string)).status]).toEqual([200, 200]);
    },
    '10.7': async () => {
      const foreign = await app.given.account();
      const token = (await oauth.tokens(login))['access_token'];
      const statuses = [await search('wrong'), await app.call('GET', `/accounts/${foreign}/eligibilities`, { token })];
      expect(statuses.map(({ status }) => status)).toEqual([401, 403]);
    },
    '10.8': async () => {
      const path = `/accounts/${login.account}/candidates`;
      const body = app.given.eligibilityBody('T-1');
      const { access_token: token } = await oauth.tokens(login, { scope: 'read' });
      const statuses = [
        await app.call('POST', path, { token: 'wrong', body }),
        await app.call('POST', path, { token, body }),
      ];
      expect(statuses.map(({ status }) => status)).toEqual([401, 403]);
    },
    '14.4': async () => {
      const { status, body, headers } = await search();
      expect([status, body.code, headers.get('www-authenticate')]).toEqual([
        401,
        'unauthorized',
        expect.stringMatching('^Bearer'),
      ]);
    },
    '14.5': async () => {
      const { access_token: token } = await oauth.tokens(login, { scope: 'create' });
      const { status, body } = await search(token);
      expect([status, body.code]).toEqual([403, 'insufficient_scope']);
    },
  }));
