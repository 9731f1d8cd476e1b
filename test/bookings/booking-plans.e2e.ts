import { LOCK_FREE_OF_CANDIDATES, SAVE_STATE } from '../../src/eligibility/eligibility-store';
import { DeliverySchedule } from '../../src/notifications/delivery/delivery-schedule';
import { numbered } from '../../src/platform/database/batched';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { rowsOf } from '../support/plans';

/**
 * Simulates a database connection that planned its statements about bookings while the tables were empty. The
 * connection still uses these plans when there are many eligibility records. The statements run on a connection of the
 * service, and EXPLAIN shows how many rows they read.
 */
const RECORDS = 50_000;
const BATCH = 30;
/**
 * The maximum number of rows that a statement may read. The number is several times the size of a batch, but much
 * smaller than the number of records.
 */
const MOST = 1_000;

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { ROLES: 'api' } });
});
afterAll(() => app.close());

it('the records of a batch of bookings are looked up by index, even if the query was planned while the table was empty', async () => {
  const scene = await app.given.scene();
  // Autovacuum is off, because the test must not depend on the database server's own maintenance.
  await app.given.slowSql('ALTER TABLE eligibilities SET (autovacuum_enabled = off)');
  const client = await app.database.pool.connect();
  try {
    for (const statement of [LOCK_FREE_OF_CANDIDATES, SAVE_STATE])
      for (let n = 0; n < 8; n++) await client.query({ ...statement, values: ['[]'] });
    await app.given.slowSql(
      `INSERT INTO eligibilities (account_code, svc_eligiblity_id, candidate_id, test_code, status, approval_pending,
         portion_codes, first_name, last_name, special_accommodations, additional_attributes, created_datetime, updated_datetime)
       SELECT $1, translate(lpad(n::text, 8, '0'), '01', 'XY'), 'candidate-' || n, $2, 'ELIGIBLE', false, '{}', 'Ada', 'King', '{}', '[]', now(), now()
       FROM generate_series(1, ${RECORDS}) AS n`,
      [scene.account, scene.testCode],
    );
    // The service runs ANALYZE on grown tables every second. PostgreSQL counts written rows about a second after the
    // write.
    await eventually(async () => {
      await app.app.get(DeliverySchedule).analyseGrown();
      expect(
        await app.given.slowSql(`SELECT FROM pg_class WHERE relname = 'eligibilities' AND reltuples < ${RECORDS}`),
      ).toEqual([]);
    }, 20_000);
    const looksAt = async (name: string, rows: object[]) =>
      (await rowsOf(client, `EXECUTE "${name}" ('${numbered(rows)[0]}')`)).lookedAt;
    const batch = Array.from({ length: BATCH }, (_, at) => 1 + at * 1_000);
    const asked = batch.map((n) => ({
      account_code: scene.account,
      candidate_id: `candidate-${n}`,
    }));
    expect(await looksAt('eligibility-lock-free-of-candidates', asked)).toBeLessThan(MOST);
    const states = batch.map((n) => ({
      svc_eligiblity_id: String(n).padStart(8, '0').replaceAll('0', 'X').replaceAll('1', 'Y'),
      status: 'ELIGIBLE',
      approval_pending: false,
      updated_datetime: new Date(),
    }));
    expect(await looksAt('eligibility-save-state', states)).toBeLessThan(MOST);
  } finally {
    client.release();
  }
});
