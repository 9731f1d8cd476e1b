import pg from 'pg';
import { ConfigError } from '../../src/platform/environment-reader';
import { runAdminCommand } from '../../src/admin-cli';
import { connectTo } from '../../src/platform/database/service-client';
import { migrate } from '../../src/platform/database/migrate';
import { startApp, type TestApp } from '../support/app';
import { cloneDatabase } from '../support/database';
import { eventually } from '../support/eventually';
import { dateTime } from '../support/given';
import { importsOf } from '../support/imports';
import { Subscribed } from '../support/subscribed';

/**
 * Tests section 13 of the contract: the service works with a database role for which an administrator has changed every
 * possible setting.
 */
const PRESCRIBED: Record<string, string> = {
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kathmandu',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  array_nulls: 'off',
  standard_conforming_strings: 'off',
  escape_string_warning: 'off',
  backslash_quote: 'off',
  transform_null_equals: 'on',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  session_replication_role: 'replica',
  synchronous_commit: 'off',
  statement_timeout: '900ms',
  lock_timeout: '1ms',
  idle_in_transaction_session_timeout: '50ms',
  idle_session_timeout: '100ms',
  transaction_timeout: '950ms',
  row_security: 'off',
  client_min_messages: 'debug5',
  xmloption: 'document',
  lc_numeric: 'POSIX',
  client_encoding: 'LATIN1',
  gin_fuzzy_search_limit: '1',
  enable_seqscan: 'off',
  enable_indexscan: 'off',
  plan_cache_mode: 'force_generic_plan',
  quote_all_identifiers: 'on',
  jit_above_cost: '0',
};

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let admin: pg.Client;
let role: string;
let url: string;
let app: TestApp;
let subscribed: Subscribed;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  database = await cloneDatabase({ migrated: false });
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  role = `hostile_${new URL(database.url).pathname.slice(1)}`;
  await admin.query(`CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD 'a secret'`);
  for (const [name, value] of Object.entries(PRESCRIBED))
    await admin.query(`ALTER ROLE ${role} SET ${name} = '${value}'`);
  const address = new URL(database.url);
  [address.username, address.password] = [role, 'a secret'];
  url = address.href;
  await migrate(url);
  app = await startApp({ databaseUrl: url });
  subscribed = await Subscribed.start(app);
  scene = await app.given.scene();
}, 60_000);
afterAll(async () => {
  await subscribed.stop();
  await app.close();
  await admin.end();
  await database.drop();
  const again = new pg.Client({ connectionString: process.env['TEST_POSTGRES_URL']!.replace(/[^/]+$/, 'postgres') });
  await again.connect();
  await again.query(`DROP ROLE ${role}`);
  await again.end();
});

const call = (method: string, path: string, body?: unknown) =>
  app.call(method, `/accounts/${scene.account}/${path}`, { token: scene.token, body });

describe('under a database role with unusual session settings', () => {
  it('each kind of database connection has the settings that the service requires', async () => {
    const client = await connectTo(url);
    try {
      const { rows } = await client.query<Record<string, string>>(
        `SELECT current_setting('DateStyle') AS style, current_setting('TimeZone') AS zone,
           current_setting('transaction_isolation') AS isolation, current_setting('synchronous_commit') AS commits,
           current_setting('array_nulls') AS nulls, current_setting('statement_timeout') AS statement,
           current_setting('idle_session_timeout') AS idle, current_setting('session_replication_role') AS replication`,
      );
      expect(rows).toEqual([
        {
          style: 'ISO, MDY',
          zone: 'UTC',
          isolation: 'read committed',
          commits: 'on',
          nulls: 'on',
          statement: '0',
          idle: '0',
          replication: 'origin',
        },
      ]);
    } finally {
      await client.end();
    }
    const sessions = await admin.query<{ application_name: string }>(
      `SELECT DISTINCT application_name FROM pg_stat_activity WHERE usename = $1 ORDER BY 1`,
      [role],
    );
    // The LISTEN connection still exists, although the `idle_session_timeout` of the role would have closed it.
    expect(sessions.rows.map((row) => row.application_name)).toEqual([
      'candidate-eligibility-service',
      'candidate-eligibility-service listener',
    ]);
  });

  it('applies the options of DATABASE_URL, except for settings that the service requires', async () => {
    const options = '-c DateStyle=German -c work_mem=8MB -c statement_timeout=3s -c synchronous_commit=local';
    const client = await connectTo(`${url}?options=${encodeURIComponent(options)}`);
    const { rows } = await client.query<Record<string, string>>(
      `SELECT current_setting('DateStyle') AS style, current_setting('work_mem') AS memory,
         current_setting('statement_timeout') AS statement, current_setting('synchronous_commit') AS commits`,
    );
    await client.end();
    expect(rows).toEqual([{ style: 'ISO, MDY', memory: '8MB', statement: '3s', commits: 'local' }]);
  });

  it('keeps the synchronous_commit setting of a role if the setting is stronger than the default', async () => {
    await admin.query(`ALTER ROLE ${role} SET synchronous_commit = 'remote_apply'`);
    const client = await connectTo(url);
    const { rows } = await client.query<{ synchronous_commit: string }>('SHOW synchronous_commit');
    await client.end();
    await admin.query(`ALTER ROLE ${role} SET synchronous_commit = 'off'`);
    expect(rows[0].synchronous_commit).toBe('remote_apply');
  });

  it('the service creates, reads and updates records correctly under a database role with unusual session settings', async () => {
    const record = await app.given.eligibility(scene, { eligibility_end_date: '2027-03-02T03:04:05Z' });
    const candidate = encodeURIComponent(record['candidate'].candidate_id);
    const { status, body } = await call('GET', `candidates/${candidate}`);
    expect(status).toBe(200);
    expect(body[0]).toEqual(record);
    expect(body[0].eligibility_end_date).toBe('2027-03-02T03:04:05Z');
    const path = `candidates/${candidate}/tests/${scene.testCode}`;
    expect((await call('PUT', path, body[0])).status).toBe(204);
    expect((await call('GET', path)).body).toEqual(body);
    expect((await call('GET', 'eligibilities?status=active&updated_since=2026-01-02T03:04:05Z')).status).toBe(200);
  });

  it('the service reschedules many bookings at the same time under a database role with unusual session settings', async () => {
    const { scene } = subscribed;
    const codes = await Promise.all(Array.from({ length: 12 }, () => subscribed.booking()));
    for (let round = 0; round < 3; round++) await Promise.all(codes.map((code) => subscribed.reschedule(code)));
    await Promise.all(codes.map((code) => subscribed.cancel(code)));
    await eventually(async () => expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(12 * 5));
    await app.given.settled();
    const { body } = await app.call('GET', `/accounts/${scene.account}/changes?kind=BOOKING&limit=200`, {
      token: scene.token,
    });
    expect(body).toHaveLength(12 * 5);
  });

  it('the service imports a file, imports an export again, and searches by name under a database role with unusual session settings', async () => {
    const { exported, imported } = importsOf(app, () => scene);
    const end = dateTime(Date.now() + 86_400_000);
    const rows = Array.from({ length: 30 }, (_, n) => `hostile-${n},${scene.testCode},Zoë,O'Brien \\${n},US,${end}`);
    const text = `candidate_id,test_code,first_name,last_name,country,eligibility_end_date\n${rows.join('\n')}\n`;
    expect(await imported(text)).toMatchObject({ created: 30, refused: 0 });
    expect(await imported(await exported())).toMatchObject({ created: 0, updated: 0 });
    const found = await app.call('GET', `/admin/candidates?account_code=${scene.account}&q=zoë`, {
      token: subscribed.operator,
    });
    expect(found.body).toHaveLength(30);
  });

  it('the service is ready under a database role with unusual session settings, and the command line confirms that the audit log agrees with its seals', async () => {
    expect(await app.call('GET', '/health/ready')).toMatchObject({ status: 200 });
    const said: string[] = [];
    const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => said.push(String(text)) > 0);
    const code = await runAdminCommand(['verify-audit'], app.app).finally(() => write.mockRestore());
    expect([code, said.join('')]).toEqual([0, expect.stringMatching(/The audit agrees with its seals/)]);
  });
});

it.each(['LATIN1', 'SQL_ASCII'])(
  'refuses to start on a database with the encoding %s, and explains why in one line',
  async (encoding) => {
    const name = `${encoding.toLowerCase()}_${process.pid}`;
    await admin.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING '${encoding}' LOCALE 'C'`);
    try {
      const error: unknown = await migrate(database.url.replace(/[^/]+$/, name)).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as ConfigError).faults).toEqual([expect.stringMatching(`^DATABASE_URL .* ${encoding}: .*UTF8`)]);
    } finally {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  },
);
