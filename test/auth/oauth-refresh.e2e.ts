import { UpdateApplication, UpdateUser } from '../../src/auth/auth.commands';
import { startApp, type Answer, type TestApp } from '../support/app';
import { OAuth, type Login } from '../support/oauth';

describe('POST /token with grant_type=refresh_token', () => {
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

  const expectInvalidGrant = (answer: Answer) =>
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant']);
  const alive = async (token: string) => (await oauth.knock(login, token)).status === 404;

  it('each refresh issues a new pair of tokens, and the earlier access token stays valid', async () => {
    const first = await oauth.tokens(login);
    const answer = await oauth.byRefreshToken(login, first.refresh_token);
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body).sort()).toEqual(Object.keys(first).sort());
    expect(answer.body.scope).toBe(first.scope);
    expect(answer.body.access_token).not.toBe(first.access_token);
    expect(answer.body.refresh_token).not.toBe(first.refresh_token);
    expect(answer.headers.get('pragma')).toBe('no-cache');
    expect(await alive(first.access_token)).toBe(true);
    expect(await alive(answer.body.access_token)).toBe(true);
    expect((await oauth.byRefreshToken(login, answer.body.refresh_token)).status).toBe(200);
  });

  it('revokes the whole token family, including access tokens, when a used refresh token is sent again', async () => {
    const first = await oauth.tokens(login);
    const second = (await oauth.byRefreshToken(login, first.refresh_token)).body;
    expectInvalidGrant(await oauth.byRefreshToken(login, first.refresh_token));
    expect(await alive(first.access_token)).toBe(false);
    expect(await alive(second.access_token)).toBe(false);
    expectInvalidGrant(await oauth.byRefreshToken(login, second.refresh_token));
    const [row] = await app.given.sql(`SELECT actor FROM audit_log WHERE action = 'token.reuse' ORDER BY id DESC`);
    expect(row).toEqual({ actor: login.username });
  });

  it("revoking a token family does not revoke the user's other token families", async () => {
    const [one, other] = [await oauth.tokens(login), await oauth.tokens(login)];
    await oauth.byRefreshToken(login, one.refresh_token);
    expectInvalidGrant(await oauth.byRefreshToken(login, one.refresh_token));
    expect(await alive(other.access_token)).toBe(true);
    expect((await oauth.byRefreshToken(login, other.refresh_token)).status).toBe(200);
  });

  it('accepts exactly one of ten simultaneous requests with the same refresh token', async () => {
    for (let round = 0; round < 3; round++) {
      const { refresh_token } = await oauth.tokens(login);
      const answers = await Promise.all(Array.from({ length: 10 }, () => oauth.byRefreshToken(login, refresh_token)));
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array<number>(9).fill(400)]);
      const won = answers.find((answer) => answer.status === 200)!;
      expect(await alive(won.body.access_token)).toBe(false);
    }
  });

  it('gives byte-identical responses to unknown, malformed and used refresh tokens', async () => {
    const { refresh_token, access_token } = await oauth.tokens(login);
    await oauth.byRefreshToken(login, refresh_token);
    const answers = [
      await oauth.byRefreshToken(login, refresh_token),
      await oauth.byRefreshToken(login, 'A'.repeat(43)),
      await oauth.byRefreshToken(login, 'no token at all'),
      await oauth.byRefreshToken(login, access_token),
    ];
    answers.forEach(expectInvalidGrant);
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
  });

  it('a refresh token cannot be used, revoked or made unusable by another application', async () => {
    const other = await oauth.application();
    const first = await oauth.tokens(login);
    expectInvalidGrant(await oauth.byRefreshToken(other, first.refresh_token));
    const second = await oauth.byRefreshToken(login, first.refresh_token);
    expect(second.status).toBe(200);
    expectInvalidGrant(await oauth.byRefreshToken(other, first.refresh_token));
    expect(await alive(second.body.access_token)).toBe(true);
  });

  it('a refreshed access token can have a smaller scope on request, but never a larger scope', async () => {
    const first = await oauth.tokens(login, { scope: 'read update' });
    const shrunk = await oauth.byRefreshToken(login, first.refresh_token, { scope: 'read' });
    expect(shrunk.body.scope).toBe('read');
    const grown = await oauth.byRefreshToken(login, shrunk.body.refresh_token, { scope: 'read update create' });
    expect([grown.status, grown.body.error]).toEqual([400, 'invalid_scope']);
    // The failed refresh must not use up the refresh token, and the grant must keep both of its scopes (RFC 6749 §6).
    const again = await oauth.byRefreshToken(login, shrunk.body.refresh_token);
    expect([again.status, again.body.scope]).toEqual([200, 'read update']);
  });

  it('a refresh token stays usable after a malformed request or a request with a wrong client secret', async () => {
    const { refresh_token } = await oauth.tokens(login);
    await oauth.post('/token', login, `grant_type=refresh_token&refresh_token=${refresh_token}&x=1&x=2`);
    await oauth.post(
      '/token',
      { ...login, consumer_secret: 'wrong' },
      { grant_type: 'refresh_token', refresh_token: refresh_token },
    );
    expect((await oauth.byRefreshToken(login, refresh_token)).status).toBe(200);
  });

  it("a refresh token expires at the end of its grant's absolute lifetime, however often it was refreshed", async () => {
    const first = await oauth.tokens(login);
    const second = (await oauth.byRefreshToken(login, first.refresh_token)).body;
    const [{ family }] = (await app.given.sql(
      `SELECT count(*)::int AS families, min(expires_at) - min(granted_at) = interval '1 day' AS family
       FROM token_families WHERE username = $1`,
      [login.username],
    )) as [{ family: boolean }];
    expect(family).toBe(true);
    await app.given.sql(`UPDATE token_families SET expires_at = now() WHERE username = $1`, [login.username]);
    expectInvalidGrant(await oauth.byRefreshToken(login, second.refresh_token));
    expect(await alive(second.access_token)).toBe(true);
  });

  it('refuses an expired access token', async () => {
    const { access_token, refresh_token } = await oauth.tokens(login);
    await app.given.sql(`UPDATE access_tokens SET expires_at = now()`);
    expect(await alive(access_token)).toBe(false);
    expect((await oauth.byRefreshToken(login, refresh_token)).status).toBe(200);
  });

  describe('immediate effect of changes to users and applications', () => {
    it('revokes the tokens of a disabled user', async () => {
      const { access_token, refresh_token } = await oauth.tokens(login);
      await oauth.commands.execute(new UpdateUser(login.username, { disabled: true }));
      const refused = await oauth.knock(login, access_token);
      expect(refused.status).toBe(401);
      expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"');
      expectInvalidGrant(await oauth.byRefreshToken(login, refresh_token));
    });

    it.each([
      ['user', (disabled: boolean) => new UpdateUser(login.username, { disabled })],
      ['application', (disabled: boolean) => new UpdateApplication(login.consumer_key, { disabled })],
    ])('the tokens of a disabled %s stay revoked after it is enabled again', async (_who, change) => {
      const { access_token, refresh_token } = await oauth.tokens(login);
      await oauth.commands.execute(change(true));
      await oauth.commands.execute(change(false));
      expect(await alive(access_token)).toBe(false);
      expectInvalidGrant(await oauth.byRefreshToken(login, refresh_token));
      expect((await oauth.byPassword(login)).status).toBe(200);
    });

    it.each([
      ['user', () => `/admin/users/${login.username}`],
      ['application', () => `/admin/applications/${login.consumer_key}`],
    ])('the tokens of the %s stay valid after a PUT request that changes nothing', async (_who, path) => {
      const { access_token, refresh_token } = await oauth.tokens(login);
      const operator = await app.given.operator();
      for (const body of [{ disabled: false }, { disabled: null }, {}])
        expect((await app.call('PUT', path(), { token: operator, body })).body.disabled).toBe(false);
      expect(await alive(access_token)).toBe(true);
      expect((await oauth.byRefreshToken(login, refresh_token)).status).toBe(200);
    });

    it.each([
      ['users', 'username', () => login.username, () => new UpdateUser(login.username, { disabled: false })],
      [
        'applications',
        'consumer_key',
        () => login.consumer_key,
        () => new UpdateApplication(login.consumer_key, { disabled: false }),
      ],
    ] as const)(
      'when the API enables %s that were disabled by SQL, their earlier tokens stay revoked',
      async (table, key, value, enable) => {
        const { access_token } = await oauth.tokens(login);
        await app.given.sql(`UPDATE ${table} SET disabled = true WHERE ${key} = $1`, [value()]);
        await oauth.commands.execute(enable());
        expect(await alive(access_token)).toBe(false);
      },
    );

    it('revokes the tokens of a disabled application', async () => {
      const { access_token } = await oauth.tokens(login);
      await oauth.commands.execute(new UpdateApplication(login.consumer_key, { disabled: true }));
      expect(await alive(access_token)).toBe(false);
    });

    it.each([
      ['user', () => new UpdateUser(login.username, { scopes: ['read', 'create'] })],
      ['application', () => new UpdateApplication(login.consumer_key, { scopes: ['read', 'create'] })],
    ])('when a scope is removed from the %s, only the tokens with that scope are revoked', async (_who, change) => {
      const wide = await oauth.tokens(login, { scope: 'read update' });
      const narrow = await oauth.tokens(login, { scope: 'read' });
      await oauth.commands.execute(change());
      expect(await alive(wide.access_token)).toBe(false);
      expect(await alive(narrow.access_token)).toBe(true);
      expectInvalidGrant(await oauth.byRefreshToken(login, wide.refresh_token));
      expectInvalidGrant(await oauth.byRefreshToken(login, wide.refresh_token, { scope: 'read' }));
      const rest = await oauth.byRefreshToken(login, narrow.refresh_token);
      expect([rest.status, rest.body.scope]).toEqual([200, 'read']);
    });

    it('tokens that were issued before a lockout stay valid', async () => {
      const { access_token, refresh_token } = await oauth.tokens(login);
      for (let attempt = 0; attempt < 5; attempt++) await oauth.byPassword({ ...login, password: 'wrong' });
      expectInvalidGrant(await oauth.byPassword(login));
      expect(await alive(access_token)).toBe(true);
      expect((await oauth.byRefreshToken(login, refresh_token)).status).toBe(200);
    });
  });
});
