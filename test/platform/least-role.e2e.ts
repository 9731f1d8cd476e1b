import pg from 'pg';
import { ChangePartitions } from '../../src/changes/change-partitions';
import { migrate } from '../../src/platform/database/migrate';
import { grantsAt, grantTo } from '../../src/platform/database/grants';
import { Clock } from '../../src/platform/clock';
import { Housekeeping } from '../../src/platform/housekeeping';
import { Logger } from '../../src/platform/observability/logger';
import { clockFunctions, installClock } from '../../src/sandbox/clock-schema';
import { startApp, type TestApp } from '../support/app';
import { cloneDatabase } from '../support/database';
import { eventually } from '../support/eventually';
import { dateTime } from '../support/given';
import { Subscribed } from '../support/subscribed';

/**
 * Tests section 13 of the contract: the role that `npm run admin -- grants` creates suffices for two months of
 * operation.
 */
const DAY_MS = 86_400_000;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let admin: pg.Client;
/** The database role that owns the tables and has no other rights. */
let owner: string;
let role: string;
const urlOf = (user: string) => {
  const url = new URL(database.url);
  [url.username, url.password] = [user, 'a secret'];
  return url.href;
};

beforeAll(async () => {
  database = await cloneDatabase({ migrated: false });
  const name = new URL(database.url).pathname.slice(1);
  [owner, role] = [`owner_${name}`, `least_${name}`];
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  for (const one of [owner, role]) await admin.query(`CREATE ROLE ${one} LOGIN PASSWORD 'a secret'`);
  await admin.query(`GRANT CREATE ON SCHEMA public TO ${owner}`);
  await admin.query(`GRANT CREATE ON DATABASE ${name} TO ${owner}`);
  await admin.query(`ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC`);
  await migrate(urlOf(owner));
});
afterAll(async () => {
  await admin.end();
  await database.drop();
  const again = new pg.Client({ connectionString: process.env['TEST_POSTGRES_URL']!.replace(/[^/]+$/, 'postgres') });
  await again.connect();
  for (const one of [role, owner]) await again.query(`DROP ROLE ${one}`);
  await again.end();
});

/** Runs SQL as the owner of the tables. */
async function asOwner(statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf(owner) });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

const partitions = async () =>
  (
    await admin.query<{ relname: string }>(
      `SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'changes'::regclass ORDER BY 1`,
    )
  ).rows.map(({ relname }) => relname);

async function startAsRole(): Promise<TestApp> {
  await migrate(urlOf(role));
  return startApp({ databaseUrl: urlOf(role), env: { CHANGES_RETENTION_DAYS: '30' } });
}

it("the SQL that grants the service's role its rights works for an existing role, even if the table owner may not create roles", async () => {
  await asOwner([await grantsAt(urlOf(owner), role)]);
  await migrate(urlOf(role));
});

it('`npm run migrate -- --grant-to` grants a role its rights, or reports in one line that the table owner may not create the role', async () => {
  await asOwner([`REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ${role}`]);
  await expect(migrate(urlOf(role))).rejects.toThrow('lacks rights');
  await grantTo(role, urlOf(owner));
  await migrate(urlOf(role));
  await expect(grantTo('nobody_yet', urlOf(owner))).rejects.toThrow(
    /^DATABASE_URL names a role that may not grant to nobody_yet: .* Create nobody_yet as a superuser/,
  );
});

it('a role with the minimum rights can start the service, store and delete data for two months, and start the service again', async () => {
  // The owner of the tables installs the sandbox's clock, and moves it with SQL.
  await installClock(urlOf(owner));
  const name = new URL(database.url).pathname.slice(1);
  await asOwner([
    `GRANT USAGE ON SCHEMA sandbox TO ${role}`,
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA sandbox TO ${role}`,
  ]);
  await admin.query(`ALTER ROLE ${role} IN DATABASE ${name} SET search_path = public, sandbox, pg_catalog`);
  const refused: string[] = [];
  for (const level of ['warn', 'error'] as const)
    jest.spyOn(Logger.prototype, level).mockImplementation((fields, message) => {
      if ((fields as { err?: { code?: string } }).err?.code === '42501') refused.push(message);
    });
  const before = await partitions();
  for (const days of [0, 32, 63]) {
    const app = await startAsRole();
    const subscribed = await Subscribed.start(app);
    await asOwner(clockFunctions(days * DAY_MS));
    await app.app.get(Clock).moveTo(days * DAY_MS);
    const scene = await app.given.scene();
    const end = dateTime(Date.now() + (days + 30) * DAY_MS);
    const record = await app.given.eligibility(scene, { eligibility_end_date: end });
    await app.given.settled();
    const feed = await app.call('GET', `/accounts/${scene.account}/changes`, { token: scene.token });
    expect(feed.body.map((entry: Record<string, string>) => entry['svc_eligiblity_id'])).toEqual([
      record['svc_eligiblity_id'],
    ]);
    await app.app.get(Housekeeping, { strict: false }).run();
    await app.app.get(ChangePartitions, { strict: false }).run();
    await subscribed.stop();
    await app.close();
    await migrate(urlOf(role));
  }
  await eventually(async () => {
    const left = await partitions();
    expect(left.at(-1)! > before.at(-1)!).toBe(true);
    expect(left).not.toContain(before[0]);
  });
  expect(refused).toEqual([]);
});
