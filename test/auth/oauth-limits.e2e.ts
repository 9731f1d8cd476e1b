import { randomBytes } from 'node:crypto';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { UpdateUser } from '../../src/auth/auth.commands';
import { TokenSweep } from '../../src/auth/tokens/token-sweep';
import { startApp, type Answer, type TestApp } from '../support/app';
import { cloneDatabase } from '../support/database';
import { OAuth, type Login } from '../support/oauth';

const SECRETS_KEY = randomBytes(32).toString('base64');
/** The duration of a lockout, in seconds. It exceeds the duration of every test. */
const LOCKOUT_S = 600;

describe('limits that hold across processes', () => {
  let one: TestApp;
  let two: TestApp;
  let oauth: OAuth;
  let elsewhere: OAuth;

  beforeAll(async () => {
    const env = { SECRETS_KEY, LOCKOUT_ATTEMPTS: '3', LOCKOUT_S: String(LOCKOUT_S) };
    one = await startApp({ env });
    two = await startApp({ env: { ...env, TOKEN_RATE_LIMIT_PER_MINUTE: '10' }, databaseUrl: one.databaseUrl });
    oauth = new OAuth(one);
    elsewhere = new OAuth(two);
  });
  afterAll(async () => {
    await two.close();
    await one.close();
  });

  describe('a lockout of a user name', () => {
    const withWrongPassword = (by: OAuth, login: Login) => by.byPassword({ ...login, password: 'wrong' });
    /** Simulates for every lockout that the given number of seconds has passed. */
    const pass = (seconds: number) =>
      one.given.sql('UPDATE login_attempts SET forget_at = forget_at - make_interval(secs => $1)', [seconds]);
    beforeEach(() => one.given.sql('TRUNCATE token_request_counts, login_attempts'));

    it('a lockout of a user name applies in every process, and ends after the configured duration', async () => {
      const login = await oauth.login();
      await withWrongPassword(oauth, login);
      await withWrongPassword(elsewhere, login);
      const before = Date.now();
      await withWrongPassword(oauth, login);
      const after = Date.now();
      expect((await oauth.byPassword(login)).status).toBe(400);
      expect((await elsewhere.byPassword(login)).status).toBe(400);
      // The attempts with wrong passwords during the lockout must not extend the lockout.
      const [{ forget_at }] = await one.given.sql(`SELECT forget_at FROM login_attempts WHERE consumer_key <> ''`);
      const lockedAt = (forget_at as Date).getTime() - LOCKOUT_S * 1000;
      expect(lockedAt).toBeGreaterThanOrEqual(before);
      expect(lockedAt).toBeLessThanOrEqual(after);
      await pass(LOCKOUT_S - 60);
      expect((await oauth.byPassword(login)).status).toBe(400);
      await pass(60);
      expect((await elsewhere.byPassword(login)).status).toBe(200);
      const rows = await one.given.sql(`SELECT actor, subject FROM audit_log WHERE action = 'user.lock_out'`);
      expect(rows).toEqual([{ actor: 'system', subject: login.username }]);
    });

    it('only consecutive wrong passwords count towards a lockout', async () => {
      const login = await oauth.login();
      for (let round = 0; round < 3; round++) {
        await withWrongPassword(oauth, login);
        await withWrongPassword(oauth, login);
        expect((await oauth.byPassword(login)).status).toBe(200);
      }
    });

    it('a user name is locked after the same number of wrong passwords, whether they arrive simultaneously or one by one', async () => {
      const login = await oauth.login();
      const wrong = Array.from({ length: 20 }, () => withWrongPassword(oauth, login));
      const answers = await Promise.all([...wrong, oauth.byPassword(login)]);
      expect(answers.map((answer) => answer.status)).not.toContain(200);
      const [row] = await one.given.sql(`SELECT max(failures) AS failures FROM login_attempts`);
      expect(row).toEqual({ failures: 4 });
    });

    it('a new password ends the lockout of a user name', async () => {
      const login = await oauth.login();
      for (let attempt = 0; attempt < 3; attempt++) await withWrongPassword(oauth, login);
      const password = 'another new long password';
      await oauth.commands.execute(new UpdateUser(login.username, { password }));
      expect((await oauth.byPassword({ ...login, password })).status).toBe(200);
    });

    it('unknown user names are locked too, and no locked user name is stored in plain text', async () => {
      const login = await oauth.login();
      const username = 'a password typed into the wrong field';
      await oauth.byPassword({ ...login, username });
      const rows = await one.given.sql('SELECT * FROM login_attempts');
      expect(rows.length).toBeGreaterThan(0);
      for (const row of rows)
        expect(Object.keys(row).sort()).toEqual(['consumer_key', 'failures', 'forget_at', 'username_mac']);
      expect(rows.some((row) => (row['username_mac'] as Buffer).toString('utf8').includes('password'))).toBe(false);
    });
  });

  describe('the quota of an address', () => {
    it('all processes share the quota of token requests per address, and answer 429 with Retry-After when it is used up', async () => {
      const third = await startApp({
        env: { SECRETS_KEY, TOKEN_RATE_LIMIT_PER_MINUTE: '10' },
        databaseUrl: one.databaseUrl,
      });
      try {
        await one.given.sql('TRUNCATE token_request_counts');
        const login = await oauth.login();
        await untilEarlyInAMinute();
        const answers: Answer[] = [];
        for (let at = 0; at < 14; at++) answers.push(await (at % 2 ? elsewhere : new OAuth(third)).byPassword(login));
        expect(answers.map((answer) => answer.status)).toEqual([
          ...Array<number>(10).fill(200),
          ...Array<number>(4).fill(429),
        ]);
        for (const refused of answers.slice(10)) {
          expect(refused.body.error).toBe('temporarily_unavailable');
          expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
          expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
          expect(refused.headers.get('pragma')).toBe('no-cache');
        }
        // Other routes still answer this client address, because the quota applies only to token requests.
        expect((await elsewhere.post('/introspect', login, { token: 'x' })).status).toBe(200);
      } finally {
        await third.close();
      }
    });
  });

  it('during a flood of token requests, the service answers more API requests than it issues tokens', async () => {
    const login = await oauth.login();
    const { access_token } = await oauth.tokens(login);
    const flood = Promise.all(Array.from({ length: 200 }, () => oauth.byPassword(login)));
    let flooding = true;
    void flood.finally(() => (flooding = false));
    let answered = 0;
    for (; flooding; answered++) expect((await oauth.knock(login, access_token)).status).toBe(404);
    const answers = await flood;
    const statuses = answers.map((answer) => answer.status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    const refused = answers.find((answer) => answer.status === 503)!;
    expect(refused.body.error).toBe('temporarily_unavailable');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    // The service hashes passwords outside the event loop. Otherwise, each API response would wait for several hashes.
    expect(answered).toBeGreaterThan(statuses.filter((status) => status === 200).length);
    // The time limit is long, because hashing has low priority and is slow on a busy machine.
  }, 300_000);

  describe('the sweep of tokens', () => {
    it('the service deletes expired tokens in batches, and keeps valid tokens and tokens whose rows are locked', async () => {
      const login = await oauth.login();
      const live = await oauth.tokens(login);
      const dead = await oauth.tokens(login);
      await oauth.byRefreshToken(login, dead.refresh_token);
      const [family] = await one.given.sql(
        `UPDATE token_families SET expires_at = now() - interval '1 s'
         WHERE family_id = (SELECT family_id FROM token_families WHERE username = $1 ORDER BY granted_at DESC LIMIT 1)
         RETURNING family_id`,
        [login.username],
      );
      const families = `SELECT count(*)::int AS n FROM token_families WHERE family_id = $1`;
      const sweep = one.app.get(TokenSweep, { strict: false });

      await sweep.run();
      // The sweep keeps an expired token family as long as any access token of the family exists.
      expect(await one.given.sql(families, [family['family_id']])).toEqual([{ n: 1 }]);

      await one.given.sql(
        `INSERT INTO access_tokens (token_hash, family_id, scopes, expires_at)
         SELECT sha256(n::text::bytea), $1, '{read}', now() - interval '1 s' FROM generate_series(1, 1200) n`,
        [family['family_id']],
      );
      await one.given.sql(`UPDATE access_tokens SET expires_at = now() - interval '1 s' WHERE family_id = $1`, [
        family['family_id'],
      ]);
      const holder = await one.database.pool.connect();
      await holder.query('BEGIN');
      await holder.query(`SELECT 1 FROM access_tokens WHERE family_id = $1 LIMIT 1 FOR UPDATE`, [family['family_id']]);
      await sweep.run();
      const left = `SELECT count(*)::int AS n FROM access_tokens WHERE expires_at < now()`;
      expect(await one.given.sql(left)).toEqual([{ n: 1 }]);
      await holder.query('COMMIT');
      holder.release();

      await one.given.sql(`UPDATE login_attempts SET forget_at = now() - interval '1 s'`);
      await one.given.sql(`UPDATE token_request_counts SET minute = minute - interval '5 minutes'`);
      await sweep.run();
      expect(await one.given.sql(left)).toEqual([{ n: 0 }]);
      expect(await one.given.sql(families, [family['family_id']])).toEqual([{ n: 0 }]);
      expect(await one.given.sql('SELECT 1 FROM login_attempts')).toEqual([]);
      expect(await one.given.sql('SELECT 1 FROM token_request_counts')).toEqual([]);
      expect((await oauth.knock(login, live.access_token)).status).toBe(404);
      expect((await oauth.byRefreshToken(login, live.refresh_token)).status).toBe(200);
    });
  });
});

it('token requests get 503 with Retry-After while the database is unreachable, and succeed afterwards without a restart', async () => {
  const database = await cloneDatabase();
  const gate = await openGate(Number(new URL(database.url).port));
  const url = new URL(database.url);
  url.port = String(gate.port);
  const app = await startApp({ databaseUrl: url.toString() });
  try {
    const oauth = new OAuth(app);
    const login = await oauth.login();
    const { access_token, refresh_token } = await oauth.tokens(login);
    gate.close();
    const answers = [
      await oauth.byPassword(login),
      await oauth.byRefreshToken(login, refresh_token),
      await oauth.post('/introspect', login, { token: access_token }),
      await oauth.post('/revoke', login, { token: access_token }),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.body.error]).toEqual([503, 'temporarily_unavailable']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(answer.headers.get('pragma')).toBe('no-cache');
    }
    const refused = await oauth.knock(login, access_token);
    expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
    gate.open();
    expect((await oauth.knock(login, access_token)).status).toBe(404);
    expect((await oauth.byRefreshToken(login, refresh_token)).status).toBe(200);
  } finally {
    await app.close();
    gate.end();
    await database.drop();
  }
});

/**
 * Opens a proxy to the database. When the proxy is closed, it cuts all open connections. Until it is opened again, it
 * cuts each new connection immediately.
 */
async function openGate(to: number) {
  const sockets = new Set<Socket>();
  let closed = false;
  const server = createServer((socket) => {
    if (closed) return void socket.destroy();
    const upstream = connect(to, '127.0.0.1');
    for (const [end, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(end);
      end.pipe(other);
      end.on('error', () => undefined);
      end.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => sockets.forEach((socket) => socket.destroy());
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      closed = true;
      cut();
    },
    open: () => {
      closed = false;
    },
    end: () => {
      cut();
      server.close();
    },
  };
}

/** Waits for the beginning of a minute, because the quota of token requests applies to each minute of the clock. */
async function untilEarlyInAMinute(): Promise<void> {
  const second = new Date().getSeconds();
  if (second > 55) await new Promise((resolve) => setTimeout(resolve, (61 - second) * 1000));
}
