import pg from 'pg';
import { ConfigError } from '../../src/platform/environment-reader';
import { migrate } from '../../src/platform/database/migrate';
import { UnitOfWork } from '../../src/platform/unit-of-work/unit-of-work';
import { startApp, type TestApp } from '../support/app';
import { cloneDatabase } from '../support/database';
import { Pooler } from '../support/pooler';

/** Tests section 13 of the contract, which describes how the service works behind a connection pooler. */
let database: Awaited<ReturnType<typeof cloneDatabase>>;

beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

async function faultsOf(start: Promise<unknown>): Promise<string[]> {
  const error: unknown = await start.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).faults;
}

async function locks(): Promise<number> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query<{ held: number }>(
    `SELECT count(*) AS held FROM pg_locks JOIN pg_database ON oid = database
     WHERE locktype = 'advisory' AND datname = current_database()`,
  );
  await client.end();
  return Number(rows[0].held);
}

describe('a pooler in session mode', () => {
  let pooler: Pooler;
  let app: TestApp;

  beforeAll(async () => {
    pooler = await Pooler.before(database.url, 'session');
    await migrate(pooler.url);
    app = await startApp({ databaseUrl: pooler.url });
  });
  afterAll(async () => {
    await app.close();
    pooler.close();
  });

  it('the pooler in session mode refuses a start-up parameter that PostgreSQL would accept', async () => {
    const client = new pg.Client({ connectionString: pooler.url, statement_timeout: 7_000 });
    await expect(client.connect()).rejects.toThrow('unsupported startup parameter: statement_timeout');
  });

  it('the service works behind a pooler in session mode with its default configuration', async () => {
    const scene = await app.given.scene();
    const eligibility = await app.given.eligibility(scene);
    await app.given.booking(scene, eligibility);
    expect((await app.call('GET', '/health/ready')).status).toBe(200);
  });

  it('behind a pooler, a connection gets its time limits after it is opened, and a unit of work gets a longer lock timeout', async () => {
    const limits = async () =>
      (
        await app.given.sql(
          `SELECT current_setting('statement_timeout') AS statement,
             current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('lock_timeout') AS lock,
             current_setting('max_parallel_workers_per_gather') AS workers`,
        )
      )[0];
    expect(await limits()).toEqual({ statement: '7s', idle: '1min', lock: '2s', workers: '0' });
    expect(await app.app.get(UnitOfWork).run(limits)).toEqual({
      statement: '7s',
      idle: '1min',
      lock: '4s',
      workers: '0',
    });
  });
});

describe('a pooler in transaction mode', () => {
  it('behind a pooler in transaction mode, the service refuses to start with one line of explanation, and leaves no lock behind', async () => {
    const pooler = await Pooler.before(database.url, 'transaction');
    const faults = await faultsOf(migrate(pooler.url));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/^DATABASE_URL .*session mode/);
    expect(faults[0]).not.toMatch(/\n/);
    // The pooler keeps its connections to the server open. If the service had left a session lock behind, one of these
    // connections would still hold the lock.
    expect(pooler.idle.length).toBeGreaterThan(0);
    expect(await locks()).toBe(0);
    pooler.close();
  });
});

describe('starting the service', () => {
  it('the start fails with one line of explanation when another process is still migrating', async () => {
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('SELECT pg_advisory_lock(7031946)');
    const said: string[] = [];
    const write = jest.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
    const faults = await faultsOf(migrate(database.url, { waitS: 4 })).finally(() => write.mockRestore());
    expect(faults).toEqual([expect.stringMatching(/^MIGRATION_WAIT_S /)]);
    expect(said).toEqual([expect.stringMatching(/^Waiting for another process that migrates .*3 of 4 s\)\n$/)]);
    await holder.end();
    await migrate(database.url, { waitS: 4 });
  });

  it('the start fails with one line of explanation on a read-only server', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    expect(await faultsOf(migrate(database.url))).toEqual([
      expect.stringMatching(/^DATABASE_URL .* read-only .*primary/),
    ]);
    await admin.query('SET default_transaction_read_only = off');
    await admin.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await admin.end();
    expect(await locks()).toBe(0);
  });

  it('the start fails with one line of explanation if the database role lacks any required right', async () => {
    const admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
    const name = new URL(database.url).pathname.slice(1);
    const role = `poor_${name}`;
    const url = new URL(database.url);
    [url.username, url.password] = [role, 'a secret'];
    const start = () => faultsOf(migrate(url.href));
    try {
      await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'a secret'`);
      expect(await start()).toEqual([expect.stringMatching(/^DATABASE_URL .*right.*grants --role/)]);
      await admin.query(`GRANT SELECT ON migrations TO ${role}`);
      expect(await start()).toEqual([
        expect.stringMatching(/^DATABASE_URL .*lacks rights on access_tokens, .* more: .*grants --role/),
      ]);
      await admin.query(`DELETE FROM migrations WHERE name = (SELECT max(name) FROM migrations)`);
      expect(await start()).toEqual([expect.stringMatching(/^DATABASE_URL .*(may not change the schema|right)/)]);
      await admin.query(`REVOKE CONNECT ON DATABASE ${name} FROM public`);
      expect(await start()).toEqual([expect.stringMatching(/^DATABASE_URL .*42501.* right/)]);
    } finally {
      await admin.query(`DROP OWNED BY ${role}`);
      await admin.query(`DROP ROLE ${role}`);
      await admin.end();
    }
  });
});
