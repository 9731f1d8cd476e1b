import { randomBytes } from 'node:crypto';
import { runAdminCommand } from '../../src/admin-cli';
import { TokenRefusals } from '../../src/auth/tokens/token-refusals';
import { startApp, type TestApp } from '../support/app';
import { OAuth, type Login } from '../support/oauth';

const ATTEMPTS = 3;
const env = { LOCKOUT_ATTEMPTS: String(ATTEMPTS), SECRETS_KEY: randomBytes(32).toString('base64') };

let app: TestApp;
let oauth: OAuth;
let operator: string;

beforeAll(async () => {
  app = await startApp({ env });
  oauth = new OAuth(app);
  operator = await app.given.operator();
});
afterAll(() => app.close());

const fail = async (login: Login, times = ATTEMPTS) => {
  for (let at = 0; at < times; at++)
    expect((await oauth.byPassword({ ...login, password: 'wrong' })).body.error).toBe('invalid_grant');
};

describe('a lockout after wrong passwords', () => {
  it('wrong passwords lock a user only in the application that sent them', async () => {
    const login = await oauth.login();
    const stranger = { ...login, ...(await oauth.application()) };
    await fail(stranger, 2 * ATTEMPTS);
    expect((await oauth.byPassword(stranger)).body.error).toBe('invalid_grant');
    expect((await oauth.byPassword(login)).status).toBe(200);
  });

  it("POST /admin/users/{username}/unlock lifts a user's lockout in every application", async () => {
    const login = await oauth.login();
    const elsewhere = { ...login, ...(await oauth.application()) };
    await fail(login);
    await fail(elsewhere);
    const path = `/admin/users/${login.username}/unlock`;
    expect((await app.call('POST', path, { token: operator })).status).toBe(204);
    expect((await oauth.byPassword(login)).status).toBe(200);
    expect((await oauth.byPassword(elsewhere)).status).toBe(200);
    const rows = await app.given.sql(`SELECT subject FROM audit_log WHERE action = 'user.unlock'`);
    expect(rows).toEqual([{ subject: login.username }]);
    const unknown = await app.call('POST', '/admin/users/nobody/unlock', { token: operator });
    expect([unknown.status, unknown.body.code]).toEqual([404, 'not_found']);
  });

  it('npm run admin -- unlock-user lifts a lockout', async () => {
    const login = await oauth.login();
    await fail(login);
    const said = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const code = await runAdminCommand(['unlock-user', '--username', login.username], app.app);
    const out = said.mock.calls.join('');
    said.mockRestore();
    expect([code, out]).toEqual([0, `unlocked: ${login.username}\n`]);
    expect((await oauth.byPassword(login)).status).toBe(200);
  });
});

describe('refused password grants', () => {
  const audited = async (application: string) => {
    const { body } = await app.call('GET', '/admin/audit?action=token.refused&limit=200', { token: operator });
    return (body as Record<string, unknown>[]).filter((row) => row['application'] === application);
  };
  const passAMinute = async () => {
    await app.given.sql(`UPDATE token_refusals SET since = since - interval '1 minute'`);
    await Promise.all([1, 2, 3].map(() => app.app.get(TokenRefusals, { strict: false }).write()));
  };

  it('for each application and address, the audit log gets one row per minute with the number of refused password grants', async () => {
    const login = await oauth.login();
    await fail(login, 5);
    expect(await audited(login.consumer_key)).toEqual([]);
    await passAMinute();
    expect(await audited(login.consumer_key)).toEqual([
      {
        id: expect.any(Number),
        at: expect.any(String),
        actor: login.username,
        application: login.consumer_key,
        account_code: null,
        action: 'token.refused',
        subject: login.username,
        request_id: null,
        changed: [],
        count: 5,
        address: expect.stringMatching(/^address:[0-9a-f]{16}$/),
      },
    ]);
    await fail(login, 1);
    await passAMinute();
    expect(await audited(login.consumer_key)).toMatchObject([{ count: 1 }, { count: 5 }]);
    expect(await app.given.sql('SELECT * FROM token_refusals')).toEqual([]);
  });

  it('the audit row of refused password grants names a user only if all these grants named the same existing user', async () => {
    const unknown = await oauth.login();
    const typed = 'a password in the wrong field';
    await fail({ ...unknown, username: typed }, 2);
    const several = await oauth.login();
    await fail(several, 1);
    await fail({ ...several, username: unknown.username }, 1);
    await passAMinute();
    expect(await audited(unknown.consumer_key)).toMatchObject([
      { count: 2, subject: expect.stringMatching(/^name:[0-9a-f]{16}$/) },
    ]);
    expect(await audited(several.consumer_key)).toMatchObject([{ count: 2, actor: 'several', subject: 'several' }]);
    const [{ found }] = await app.given.sql(
      `SELECT count(*)::int AS found FROM audit_log WHERE audit_log::text LIKE '%' || $1 || '%' OR audit_log::text LIKE '%127.0.0.1%'`,
      [typed],
    );
    expect(found).toBe(0);
  });

  it('the audit row of refused password grants is written at the end of the minute, even without a further request', async () => {
    const login = await oauth.login();
    await fail(login, 1);
    await app.given.sql(`UPDATE token_refusals SET since = since - interval '1 minute'`);
    for (let at = 0; at < 50 && (await audited(login.consumer_key)).length === 0; at++)
      await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await audited(login.consumer_key)).toHaveLength(1);
  });
});

it('with OPERATOR_PASSWORDS=off, users with the admin or support scope get the same answer as for a wrong password', async () => {
  const without = await startApp({ env: { ...env, OPERATOR_PASSWORDS: 'off' }, databaseUrl: app.databaseUrl });
  try {
    const elsewhere = new OAuth(without);
    for (const [scope, status] of [
      ['admin', 400],
      ['support', 400],
      ['read', 200],
    ] as const) {
      const login = await oauth.login({ scopes: [scope] });
      expect((await oauth.byPassword(login)).status).toBe(200);
      const answer = await elsewhere.byPassword(login);
      expect([scope, answer.status]).toEqual([scope, status]);
      if (status === 400) expect(answer.text).toBe((await elsewhere.byPassword({ ...login, password: 'wrong' })).text);
    }
  } finally {
    await without.close();
  }
});
