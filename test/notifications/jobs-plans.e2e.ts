import { randomUUID } from 'node:crypto';
import type { PoolClient } from 'pg';
import {
  BEGIN_ITEMS,
  END_ORPHANS,
  HAND_OVER_REPLAYS,
  HAND_OVER_RESENDS,
  RESOLVE_ITEMS,
  WITHDRAW,
} from '../../src/notifications/delivery/job-statements';
import { RECORD_DELIVERED } from '../../src/notifications/delivery/record-statements';
import type { Statement } from '../../src/platform/database/database';
import { startApp, type TestApp } from '../support/app';
import { looksAt, type Values } from '../support/plans';
import { queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

const ITEMS = 50_000;
/** The number of the job's due notifications that are leased. */
const HELD = 128;
/**
 * The maximum number of rows that a step of the job may read in total. A step may compare the items of a batch with
 * each other, but it may not read all items of the job.
 */
const MOST = 25_000;

let app: TestApp;
let subscribed: Subscribed;
let client: PoolClient;

beforeAll(async () => {
  app = await startApp({ env: { ROLES: 'api' } });
  subscribed = await Subscribed.start(app);
  // Autovacuum is off, because the test must not depend on the database server's own maintenance.
  await app.given.slowSql('ALTER TABLE job_items SET (autovacuum_enabled = off)');
  await queueMany(subscribed, ITEMS);
  await app.given.slowSql('ANALYZE notifications');
}, 60_000);
beforeEach(async () => {
  client = await app.database.pool.connect();
});
afterEach(async () => {
  await app.given.slowSql('TRUNCATE jobs, job_parts, job_items, deliveries');
  await client.query('DEALLOCATE ALL');
  client.release(true);
});
afterAll(async () => {
  await subscribed.stop();
  await app.close();
});

/** Writes a job for all queued notifications to the database. No process works on the job. */
async function job(kind: string, state: string): Promise<string> {
  const id = randomUUID();
  await app.given.slowSql(
    `INSERT INTO jobs (id, kind, state, filter, reason, actor, matched, created_datetime)
     VALUES ($1, $2, $3, '{}', 'x', 'x', $4, now())`,
    [id, kind, state, ITEMS],
  );
  await app.given.slowSql(
    `INSERT INTO job_parts (job_id, subscription_id, state, waiting) VALUES ($1, $2, 'OPEN', $3)`,
    [id, subscribed.id, ITEMS],
  );
  await app.given.slowSql(
    `INSERT INTO job_items (job_id, notification_position, subscription_id)
     SELECT $1, position, subscription_id FROM notifications WHERE queued_datetime IS NOT NULL`,
    [id],
  );
  return id;
}

/** Creates leased deliveries for the job; returns their subscriptions, positions and lease tokens. */
async function hold(id: string, lease: string): Promise<Values> {
  const rows = await app.given.slowSql(
    `INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger, job_id, lease_token,
       leased_until)
     SELECT subscription_id, position, booking_code, 1, 'MANUAL', $1, position, now() + $2::interval FROM notifications
     ORDER BY position LIMIT ${HELD} RETURNING subscription_id, notification_position`,
    [id, lease],
  );
  // Runs ANALYZE on the table, as the service does within a second.
  await app.given.slowSql('ANALYZE deliveries');
  const positions = rows.map((row) => row['notification_position'] as number);
  return [rows.map((row) => row['subscription_id'] as string), positions, positions];
}

const all = <T>(value: T) => Array.from({ length: HELD }, () => value);

const begin = async (id: string): Promise<Values> => [all(id), ...(await hold(id, '1 minute'))];

async function recordDelivered(id: string): Promise<Values> {
  const held = await hold(id, '1 minute');
  return [...held, all('MANUAL'), all(id), all(false), all(new Date()), all(1), all(null), all(null), all(false)];
}

async function withdraw(id: string): Promise<Values> {
  await hold(id, '-1 minute');
  return [id];
}

const STATEMENTS: [string, string, Statement, (id: string) => Values | Promise<Values>][] = [
  ['the items of a resend are queued', 'RESEND', HAND_OVER_RESENDS, (id) => [id]],
  ['the items of a replay are queued', 'REPLAY', HAND_OVER_REPLAYS, (id) => [id]],
  ['items are resolved', 'RESOLVE', RESOLVE_ITEMS, (id) => [id, 0]],
  ['lost items are completed', 'RESEND', END_ORPHANS, (id) => [id]],
  ['items begin', 'RESEND', BEGIN_ITEMS, begin],
  ['deliveries are recorded', 'RESEND', RECORD_DELIVERED, recordDelivered],
  ['queued items are withdrawn', 'RESEND', WITHDRAW, withdraw],
];

describe.each([
  ['that were never analysed', null],
  ['that were analysed when there was another job', 'ANALYZE job_items'],
])('with statistics of job items %s', (_, upkeep) => {
  it.each(STATEMENTS)(
    'a database statement of a bulk job does not read all items of the job: %s',
    async (_title, kind, statement, valuesOf) => {
      await job(kind, 'ABORTED');
      if (upkeep !== null) await app.given.slowSql(upkeep);
      const values = await valuesOf(await job(kind, 'RUNNING'));
      // A connection caches the plan of a statement only after several executions, so the test executes each statement
      // several times.
      for (let n = 0; n < 8; n++) {
        await client.query('BEGIN');
        await client.query({ ...statement, values });
        await client.query('ROLLBACK');
        await client.query('BEGIN');
        const lookedAt = await looksAt(client, statement, values);
        await client.query('ROLLBACK');
        expect(lookedAt).toBeLessThan(MOST);
      }
    },
  );
});
