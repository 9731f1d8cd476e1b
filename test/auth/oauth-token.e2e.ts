import { UpdateApplication, UpdateUser } from '../../src/auth/auth.commands';
import { startApp, type Answer, type TestApp } from '../support/app';
import { basic, CLIENT_SCOPES, OAuth, type Login } from '../support/oauth';

describe('POST /token with grant_type=password', () => {
  let app: TestApp;
  let oauth: OAuth;
  let login: Login;

  beforeAll(async () => {
    app = await startApp({ env: { ACCESS_TOKEN_TTL_S: '1234', LOCKOUT_ATTEMPTS: '20' } });
    oauth = new OAuth(app);
    login = await oauth.login();
  });
  afterAll(() => app.close());

  const expectError = (answer: Answer, status: number, error: string) => {
    expect([answer.status, answer.body.error]).toEqual([status, error]);
    expect(Object.keys(answer.body)).toEqual(['error', 'error_description']);
    // According to RFC 6749 §5.2, the description contains only ASCII characters, without quotes and backslashes.
    expect(answer.body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('pragma')).toBe('no-cache');
  };

  it('a token response has every member of RFC 6749 §5.1, with Cache-Control: no-store', async () => {
    const answer = await oauth.byPassword(login);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      token_type: 'Bearer',
      expires_in: 1234,
      refresh_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      scope: [...CLIENT_SCOPES].sort().join(' '),
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('pragma')).toBe('no-cache');
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect((await oauth.knock(login, answer.body.access_token)).status).toBe(404);
  });

  it('/token answers any method other than POST with 405', async () => {
    const answer = await app.call('GET', '/token');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toContain('POST');
  });

  describe('the scope of a password grant', () => {
    it('a password grant without a requested scope issues a token with all scopes that application and user share', async () => {
      const both = await oauth.login({ scopes: ['update', 'read'], applicationScopes: ['read', 'create', 'update'] });
      expect((await oauth.tokens(both)).scope).toBe('read update');
      expect((await oauth.tokens(both, { scope: '' })).scope).toBe('read update');
    });

    it('a password grant issues a token with exactly the requested scopes', async () => {
      expect((await oauth.tokens(login, { scope: 'update read' })).scope).toBe('read update');
    });

    it.each(['admin', 'read admin', 'openid', 'READ', 'read  update', ' read', 'read,update', 'read "x"'])(
      'refuses a password grant with the requested scope %j, and issues no token',
      async (scope) => {
        const families = () => app.given.sql('SELECT count(*) FROM token_families');
        const before = await families();
        expectError(await oauth.byPassword(login, { scope }), 400, 'invalid_scope');
        expect(await families()).toEqual(before);
      },
    );

    it('refuses a password grant when the user and the application have no scope in common', async () => {
      const none = await oauth.login({ scopes: ['read'], applicationScopes: ['update'] });
      expectError(await oauth.byPassword(none), 400, 'invalid_scope');
    });
  });

  describe('client authentication at the token endpoint', () => {
    const form = { grant_type: 'password', username: 'u', password: 'p' };

    it('gives byte-identical responses to missing, unknown and wrong client credentials and to disabled clients', async () => {
      const disabled = await oauth.application();
      await oauth.commands.execute(new UpdateApplication(disabled.consumer_key, { disabled: true }));
      const answers = [
        await oauth.post('/token', null, form),
        await oauth.post('/token', { ...login, consumer_key: 'AAAAAAAAAAAAAAAAAAAA' }, form),
        await oauth.post('/token', { ...login, consumer_key: 'a\0b' }, form),
        await oauth.post('/token', { ...login, consumer_secret: 'wrong' }, form),
        await oauth.post('/token', { ...login, consumer_secret: '' }, form),
        await oauth.post('/token', disabled, form),
        await oauth.post('/token', null, form, { authorization: 'Basic !!!' }),
        await oauth.post('/token', null, form, { authorization: 'Bearer abc' }),
        // RFC 6749 §5.2 requires the error `invalid_client` also for an unsupported authentication method.
        await oauth.post('/token', null, {
          ...form,
          client_id: login.consumer_key,
          client_secret: login.consumer_secret,
        }),
      ];
      for (const answer of answers) {
        expectError(answer, 401, 'invalid_client');
        expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm="[^"]+"$/);
      }
      expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    });

    it('the consumer key and secret in Basic credentials are form-decoded', async () => {
      const encode = (text: string) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('');
      const credentials = `${encode(login.consumer_key)}:${encode(login.consumer_secret)}`;
      const answer = await oauth.post(
        '/token',
        null,
        { grant_type: 'password', username: login.username, password: login.password },
        { authorization: `basic ${Buffer.from(credentials).toString('base64')}` },
      );
      expect(answer.status).toBe(200);
    });

    it('refuses a token request with a client secret or the name of a second client in the body, even together with Basic authentication', async () => {
      const { consumer_key, consumer_secret } = login;
      expectError(await oauth.byPassword(login, { client_secret: consumer_secret }), 400, 'invalid_request');
      expectError(await oauth.byPassword(login, { client_id: 'other' }), 400, 'invalid_request');
      expect((await oauth.byPassword(login, { client_id: consumer_key })).status).toBe(200);
    });
  });

  describe('the form of a token request', () => {
    const good = () =>
      new URLSearchParams({ grant_type: 'password', username: login.username, password: login.password }).toString();

    it.each([
      ['JSON', 'application/json', '{"grant_type":"password"}'],
      ['multipart', 'multipart/form-data; boundary=x', '--x--'],
      ['plain text', 'text/plain', 'grant_type=password'],
      ['another charset', 'application/x-www-form-urlencoded; charset=utf-16', 'grant_type=password'],
      ['no grant_type', 'application/x-www-form-urlencoded', 'username=u&password=p'],
      ['an empty grant_type', 'application/x-www-form-urlencoded', 'grant_type=&username=u&password=p'],
      ['no username', 'application/x-www-form-urlencoded', 'grant_type=password&password=p'],
      ['no password', 'application/x-www-form-urlencoded', 'grant_type=password&username=u'],
      ['an empty password', 'application/x-www-form-urlencoded', 'grant_type=password&username=u&password='],
      ['no refresh_token', 'application/x-www-form-urlencoded', 'grant_type=refresh_token'],
      ['a repeated parameter', 'application/x-www-form-urlencoded', 'grant_type=password&scope=read&scope=read'],
      ['a NUL', 'application/x-www-form-urlencoded', 'grant_type=password&username=a%00&password=p'],
      ['invalid UTF-8', 'application/x-www-form-urlencoded', 'grant_type=password&username=%FF&password=p'],
      ['a stray percent sign', 'application/x-www-form-urlencoded', 'grant_type=password&username=%&password=p'],
    ])('refuses a token request with %s', async (_what, type, body) => {
      expectError(await oauth.post('/token', login, body, { 'content-type': type }), 400, 'invalid_request');
    });

    it('refuses a token request that has neither a content type nor a body', async () => {
      const answer = await app.call('POST', '/token', { headers: { authorization: basic(login) } });
      expectError(answer, 400, 'invalid_request');
    });

    it.each(['username', 'password', 'client_secret', 'grant_type', 'refresh_token', 'client_id', 'scope'])(
      'refuses a token request with %s in the URL',
      async (name) => {
        expectError(await oauth.post(`/token?${name}=x`, login, good()), 400, 'invalid_request');
      },
    );

    it('accepts a token request of 16 KiB, and refuses a larger request with 413', async () => {
      const filled = (bytes: number) => `${good()}&x=`.padEnd(bytes, 'y');
      expectError(await oauth.post('/token', login, filled(16 * 1024 + 1)), 413, 'invalid_request');
      expect((await oauth.post('/token', login, filled(16 * 1024))).status).toBe(200);
    });

    it('unknown parameters and the charset UTF-8 in a token request are ignored', async () => {
      const answer = await oauth.post('/token', login, `${good()}&audience=x%0A&resource=`, {
        'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
      });
      expect(answer.status).toBe(200);
    });
  });

  describe('the grant types of an application', () => {
    it.each(['authorization_code', 'PASSWORD', 'constructor'])(
      'refuses the unsupported grant type %s',
      async (grant) => {
        const answer = await oauth.post('/token', login, { grant_type: grant });
        expectError(answer, 400, 'unsupported_grant_type');
      },
    );

    it("applies a change of an application's grant types immediately", async () => {
      const bound = await oauth.login({ grants: ['password'] });
      const { refresh_token } = await oauth.tokens(bound);
      expectError(await oauth.byRefreshToken(bound, refresh_token), 400, 'unauthorized_client');
      await oauth.commands.execute(new UpdateApplication(bound.consumer_key, { grants: ['refresh_token'] }));
      expectError(await oauth.byPassword(bound), 400, 'unauthorized_client');
      expect((await oauth.byRefreshToken(bound, refresh_token)).status).toBe(200);
    });
  });

  describe('a login that fails', () => {
    it('gives the same response in the same time to a wrong password and to an unknown, disabled or locked user', async () => {
      const disabled = await oauth.login();
      await oauth.commands.execute(new UpdateUser(disabled.username, { disabled: true }));
      const locked = await oauth.login();
      for (let attempt = 0; attempt < 20; attempt++) {
        const { username } = locked;
        await oauth.byPassword({ ...login, username, password: 'wrong' });
      }
      const attempts: Record<string, { username: string; password: string }> = {
        wrong: { ...login, password: 'not the password' },
        unknown: { username: app.given.unique('nobody-'), password: 'not the password' },
        disabled,
        locked,
      };
      const times: Record<string, number[]> = { wrong: [], unknown: [], disabled: [], locked: [] };
      const texts = new Set<string>();
      for (let round = 0; round < 15; round++)
        for (const [name, { username, password }] of Object.entries(attempts)) {
          const started = performance.now();
          const answer = await oauth.post('/token', login, { grant_type: 'password', username, password });
          times[name].push(performance.now() - started);
          expectError(answer, 400, 'invalid_grant');
          texts.add(answer.text);
        }
      expect(texts.size).toBe(1);
      const medians = Object.values(times).map((values) => values.sort((a, b) => a - b)[7]);
      // Hashing a password takes at least 10 ms. If the service refused one of the requests without hashing, this
      // refusal would take only a fraction of the time that the others take.
      expect(Math.min(...medians) / Math.max(...medians)).toBeGreaterThan(0.6);
    });
  });

  it('revokes the tokens of a user whose password is changed', async () => {
    const { access_token, refresh_token } = await oauth.tokens(login);
    const password = 'another long password';
    await oauth.commands.execute(new UpdateUser(login.username, { password }));
    expect((await oauth.knock(login, access_token)).status).toBe(401);
    expectError(await oauth.byRefreshToken(login, refresh_token), 400, 'invalid_grant');
    expectError(await oauth.byPassword(login), 400, 'invalid_grant');
    login.password = password;
    expect((await oauth.byPassword(login)).status).toBe(200);
  });

  it('revokes tokens that were issued for the old password while the password was being changed', async () => {
    const victim = await oauth.login();
    const grants = Array.from({ length: 30 }, () => oauth.byPassword(victim));
    await oauth.commands.execute(new UpdateUser(victim.username, { password: 'another long password' }));
    const granted = (await Promise.all(grants)).filter((answer) => answer.status === 200);
    for (const answer of granted) expect((await oauth.knock(victim, answer.body.access_token)).status).toBe(401);
  });
});
