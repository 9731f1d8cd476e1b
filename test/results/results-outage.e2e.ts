import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres';
import { migrate } from '../../src/platform/database/migrate';
import { startApp, type Answer, type TestApp } from '../support/app';
import { accountBody, Deliveries, registrationBody, type Scene } from '../support/deliveries';
import { eventually } from '../support/eventually';

/**
 * Tests section 7 of the contract: "500 when a component is down; the driver sends again and nothing is counted twice."
 */
let dataDir: string;
let server: EmbeddedPostgres;
let app: TestApp;
let deliveries: Deliveries;
let scene: Scene;
let id: string;
let candidate: string;

const startServer = () => startEmbeddedPostgres({ dataDir, database: 'outage' });

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'results-outage-'));
  chmodSync(dataDir, 0o755);
  server = await startServer();
  await migrate(server.url);
  app = await startApp({ databaseUrl: server.url, env: { LOG_LEVEL: 'error' } });
  deliveries = new Deliveries(app);
});
afterAll(async () => {
  await app.close();
  await server.stop();
  rmSync(realpathSync(join(dataDir, 'postgres')), { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
});
beforeEach(async () => {
  scene = await app.given.scene();
  const eligibility = await app.given.eligibility(scene);
  id = eligibility['svc_eligiblity_id'] as string;
  candidate = eligibility['candidate'].candidate_id as string;
});

const routes: [string, () => Promise<Answer>][] = [
  [
    'registration results',
    () => {
      const examMetaData = { examCode: id, extRecordLocator: `L-${id}` };
      return deliveries.register(scene.token, registrationBody({ examMetaData, userPhotoBase64String: 'QUJD' }));
    },
  ],
  ['account results', () => deliveries.put(scene, accountBody(candidate, { result_id: `R-${id}` }))],
];

const TABLES = [
  'result_revisions',
  'registration_locators',
  'account_result_ids',
  'unmatched_results',
  'bookings',
  'domain_events',
  'audit_log',
];
const rows = async () => {
  const counts: Record<string, number> = {};
  for (const table of TABLES)
    counts[table] = (await app.given.sql(`SELECT count(*)::int AS n FROM ${table}`))[0]['n'] as number;
  return counts;
};

async function expectCountedOnce(): Promise<void> {
  expect(await deliveries.revisions(id)).toHaveLength(1);
  expect([await deliveries.status(id), await deliveries.completions(id)]).toEqual(['COMPLETED', 1]);
}

const UNAVAILABLE = {
  status: 500,
  code: 'service_unavailable',
  title: 'Service unavailable',
  request_id: expect.any(String),
};

/**
 * Delivers a result while the table is locked. Waits until the given SQL statement waits for the lock, and then cuts
 * the database connection of this statement.
 */
async function cutOff(table: string, statement: string, deliver: () => Promise<Answer>): Promise<Answer> {
  const blocker = await connect();
  // A separate connection reads pg_stat_activity, because this view does not change within a transaction.
  const watcher = await connect();
  try {
    await blocker.query(`BEGIN; LOCK TABLE ${table} IN EXCLUSIVE MODE`);
    const delivery = deliver();
    await eventually(async () => {
      const { rowCount } = await watcher.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ILIKE $1`,
        [`%${statement}%`],
      );
      return rowCount! > 0;
    });
    return await delivery;
  } finally {
    await blocker.end();
    await watcher.end();
  }
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  return client;
}

describe.each(routes)('%s', (_route, deliver) => {
  it.each([
    ['before it has written anything', 'eligibilities', 'FOR UPDATE'],
    ['while it adds the revision', 'result_revisions', 'INSERT INTO result_revisions'],
    ['while it completes the exam', 'bookings', 'bookings'],
    ['when all is written but the event', 'domain_events', 'INSERT INTO domain_events'],
    ['when all is written but the audit row', 'audit_log', 'INSERT INTO audit_log'],
  ])(
    'returns 500 when the database connection breaks %s, stores nothing, and stores the result once when it is resent',
    async (_when, table, statement) => {
      const before = await rows();
      const answer = await cutOff(table, statement, deliver);
      expect(answer.body).toMatchObject(UNAVAILABLE);
      expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
      expect(await rows()).toEqual(before);
      expect(await deliveries.status(id)).toBe('ELIGIBLE');
      expect((await deliver()).status).toBe(200);
      await expectCountedOnce();
      expect((await deliver()).status).toBe(200);
      await expectCountedOnce();
    },
  );

  it('returns 500, not a refusal, when an unmatched result cannot be stored for an operator', async () => {
    await app.given.sql(`UPDATE eligibilities SET status = 'CANCELLED' WHERE svc_eligiblity_id = $1`, [id]);
    const answer = await cutOff('unmatched_results', 'INSERT INTO unmatched_results', deliver);
    expect(answer.body).toMatchObject(UNAVAILABLE);
    expect((await deliver()).status).toBe(400);
  });
});

it('while the database is down, both result routes immediately return 500 and other routes 503, and each result is stored once when it is sent again', async () => {
  await server.stop();
  const begun = Date.now();
  for (const [, deliver] of routes) {
    const answer = await deliver();
    expect(answer.body).toMatchObject(UNAVAILABLE);
    expect(answer.headers.get('retry-after')).toBe('5');
  }
  expect(Date.now() - begun).toBeLessThan(5_000);
  const read = await deliveries.read(scene, candidate);
  expect([read.status, read.body.code]).toEqual([503, 'service_unavailable']);
  server = await startServer();
  for (const [, deliver] of routes) expect((await eventually(() => deliver())).status).toBe(200);
  expect(await deliveries.revisions(id)).toHaveLength(2);
  expect([await deliveries.status(id), await deliveries.completions(id)]).toEqual(['COMPLETED', 1]);
});

it('returns 500 with Retry-After on both result routes when another transaction locks the record for too long', async () => {
  const holder = await connect();
  await holder.query('BEGIN');
  await holder.query('LOCK TABLE result_revisions IN ACCESS EXCLUSIVE MODE');
  const answers = await Promise.all(routes.map(([, deliver]) => deliver()));
  await holder.query('ROLLBACK');
  await holder.end();
  for (const answer of answers) {
    expect(answer.status).toBe(500);
    expect(answer.body).toMatchObject(UNAVAILABLE);
    expect(answer.headers.get('retry-after')).toBe('5');
  }
  for (const [, deliver] of routes) expect((await deliver()).status).toBe(200);
});
