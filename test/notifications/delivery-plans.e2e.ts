import { randomUUID } from 'node:crypto';
import type { PoolClient } from 'pg';
import { leaseToken } from '../../src/notifications/delivery/delivery-lease';
import { DeliverySchedule } from '../../src/notifications/delivery/delivery-schedule';
import { BEGUN, CLAIM, CLAIM_PROBES, FIND_WORK, RELEASE } from '../../src/notifications/delivery/delivery-statements';
import { BEGIN_ITEMS } from '../../src/notifications/delivery/job-statements';
import { RESERVE } from '../../src/notifications/delivery/pace-statements';
import { RECORD_DELIVERED, RECORD_FAILED } from '../../src/notifications/delivery/record-statements';
import { CHANGE_REASONS } from '../../src/bookings/bookings.events';
import { EVENT_NAMES, TRANSLATE } from '../../src/notifications/delivery/translation-statement';
import type { Statement } from '../../src/platform/database/database';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { looksAt, type Values } from '../support/plans';

/**
 * Simulates a database connection whose statements were planned while the tables were empty. The connection still uses
 * these plans when many notifications are due. Each statement runs on a connection of the service, and EXPLAIN shows
 * how many rows the statement reads.
 */
const NOTIFICATIONS = 50_000;
const BATCH = 32;
const EVENTS = 400;
/**
 * The maximum number of rows that a statement may read in total. A statement that reads a whole table, or that compares
 * each event with every other event, exceeds this number.
 */
const MOST = 40_000;
const WAIT_MS = 10_000;

interface Owed {
  subscription_id: string;
  position: number;
  token: number;
}

let app: TestApp;
let client: PoolClient;

beforeEach(async () => {
  app = await startApp({ env: { ROLES: 'api' } });
  // Autovacuum is off, because the test must not depend on the database server's own maintenance.
  for (const table of ['deliveries', 'notifications', 'notification_attempts', 'domain_events', 'subscriptions'])
    await app.given.slowSql(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
  client = await app.database.pool.connect();
});
afterEach(async () => {
  client.release();
  await app.close();
});

/** Executes a statement until the connection has cached a plan for it. */
async function plan({ name, text }: Statement, values: Values): Promise<void> {
  for (let n = 0; n < 8; n++) await client.query({ name, text, values });
}

/** Creates partners with equal numbers of notifications. */
async function fill(partners: string[]): Promise<void> {
  const account = await app.given.account();
  await app.given.slowSql(
    `INSERT INTO subscriptions (id, account_code, partner_url, change_reasons, auth, auto_retry_on, signing_secret, state, health,
       created_datetime, updated_datetime)
     SELECT id, $2, 'https://127.0.0.1/', $3, '{}', '{}', '', 'ACTIVE', 'UP', now(), now() FROM unnest($1::uuid[]) AS id`,
    [partners, account, CHANGE_REASONS],
  );
  await app.given.slowSql(
    `INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
       effective_date, body, state)
     SELECT gen_random_uuid(), ($1::uuid[])[1 + n % cardinality($1::uuid[])], $2, 'BOOKING_CREATED', 'B' || lpad(n::text, 9, '0'), 1,
       now(), '{}', 'PENDING'
     FROM generate_series(1, ${NOTIFICATIONS}) AS n`,
    [partners, account],
  );
  await app.given.slowSql(
    `INSERT INTO domain_events (event_id, name, account_code, stream, sequence, data, occurred_at, claimed_until, settled_at)
     SELECT event_id, $1, account_code, booking_code, 1, '{"change_reason": "BOOKING_CREATED"}', now(), now(), now() FROM notifications`,
    [EVENT_NAMES[0]],
  );
}

/**
 * Creates due notifications, and events that wait for translation. Leases the first few notifications, and returns the
 * leased notifications.
 */
async function owe(): Promise<Owed[]> {
  await app.given.slowSql(
    `INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger)
     SELECT subscription_id, position, booking_code, event_sequence, 'FIRST' FROM notifications`,
  );
  await app.given.slowSql(
    `INSERT INTO domain_events (event_id, name, account_code, stream, sequence, data, occurred_at, claimed_until)
     SELECT gen_random_uuid(), $1, account_code, 'NEW' || n, 1, '{"change_reason": "BOOKING_CREATED"}', now(), now()
     FROM (SELECT DISTINCT account_code FROM subscriptions) told, generate_series(1, ${EVENTS}) AS n`,
    [EVENT_NAMES[0]],
  );
  return app.given.slowSql(
    `UPDATE deliveries d SET leased_until = now() + interval '1 minute', lease_token = d.notification_position
     FROM (SELECT notification_position FROM deliveries ORDER BY notification_position LIMIT ${BATCH}) first
     WHERE d.notification_position = first.notification_position
     RETURNING d.subscription_id, d.notification_position AS position, d.lease_token AS token`,
  ) as Promise<Owed[]>;
}

const of = <T>(rows: readonly Owed[], value: (row: Owed, index: number) => T): T[] => rows.map(value);
const held = (rows: readonly Owed[]) => [
  of(rows, (row) => row.subscription_id),
  of(rows, (row) => row.position),
  of(rows, (row) => row.token),
];
const delivered = (rows: readonly Owed[]) => [
  ...held(rows),
  of(rows, () => 'FIRST'),
  of(rows, () => null),
  of(rows, () => false),
  of(rows, () => new Date()),
  of(rows, () => 1),
  of(rows, () => null),
  of(rows, () => null),
];

/**
 * The statements that deliver notifications. Each has a function that returns the parameters of the statement for the
 * given due notifications.
 */
const STATEMENTS: [string, Statement, (rows: readonly Owed[], partners: readonly string[]) => Values][] = [
  [
    'a claim',
    CLAIM,
    (_, partners) => [partners, partners.map(() => BATCH / partners.length), WAIT_MS, leaseToken(), Infinity, 0],
  ],
  ['the search for work', FIND_WORK, () => []],
  ['a claim of probes', CLAIM_PROBES, () => [WAIT_MS, BATCH, leaseToken(), Infinity, 0]],
  ['the statement that marks attempts as begun', BEGUN, held],
  ['the record of deliveries', RECORD_DELIVERED, (rows) => [...delivered(rows), of(rows, () => true)]],
  ['the pace of a partner', RESERVE, (_, [partner]) => [partner, BATCH, 0]],
  [
    'the record of failures',
    RECORD_FAILED,
    (rows) => [
      ...delivered(rows),
      of(rows, () => 'MANUAL'),
      of(rows, (_, index) =>
        JSON.stringify({
          failure: 'client_error',
          http_status: 429,
          probe: false,
          partner_level: false,
          stretch: 1,
          busy: index % 2 === 0,
          retry_after_s: 1,
          good: 1,
        }),
      ),
      [5, 30],
    ],
  ],
  ['the statement that releases unsent notifications', RELEASE, held],
  [
    'the beginning of items of jobs',
    BEGIN_ITEMS,
    (rows) => [
      of(rows, () => randomUUID()),
      of(rows, (row) => row.subscription_id),
      of(rows, (row) => row.position),
      of(rows, (row) => row.token),
    ],
  ],
  [
    'a translation',
    TRANSLATE,
    () => [
      Array.from({ length: EVENTS }, (_, n) => `NEW${n + 1}`),
      Array(EVENTS).fill(1),
      EVENT_NAMES,
      [],
      WAIT_MS,
      leaseToken(),
      [],
      [],
    ],
  ],
];

const NOTHING: readonly Owed[] = [{ subscription_id: randomUUID(), position: 0, token: 0 }];

async function planAll(): Promise<void> {
  for (const [, statement, values] of STATEMENTS) await plan(statement, values(NOTHING, [randomUUID()]));
}

async function expectFewLookedAt(owed: readonly Owed[], partners: readonly string[]): Promise<void> {
  const figures: Record<string, number> = {};
  for (const [what, statement, values] of STATEMENTS) {
    await client.query('BEGIN');
    figures[what] = await looksAt(client, statement, values(owed, partners));
    await client.query('ROLLBACK');
  }
  if (process.env['TEST_FIGURES']) process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  for (const [what, looked] of Object.entries(figures)) expect([what, looked < MOST]).toEqual([what, true]);
}

const partnersOf = (count: number) => Array.from({ length: count }, () => randomUUID());

describe.each([
  ['that were never analysed', null],
  ['that were vacuumed while they were empty', 'VACUUM (ANALYZE) '],
])('delivery statements planned for empty tables %s', (_, upkeep) => {
  it.each([1, 8])(
    'with %i partners, no delivery statement scans a whole table that has grown since the statement was planned',
    async (count) => {
      if (upkeep !== null)
        await app.given.slowSql(
          `${upkeep} deliveries, notifications, notification_attempts, domain_events, subscriptions`,
        );
      await planAll();
      const partners = partnersOf(count);
      await fill(partners);
      const owed = await owe();
      // PostgreSQL counts written rows in its statistics about a second after the write.
      await eventually(async () => {
        await app.app.get(DeliverySchedule).analyseGrown();
        expect(
          await app.given.slowSql(
            `SELECT FROM pg_class WHERE relname IN ('deliveries', 'notifications', 'domain_events') AND reltuples < ${NOTIFICATIONS}`,
          ),
        ).toEqual([]);
      }, 20_000);
      await expectFewLookedAt(owed, partners);
    },
  );
});

describe.each([
  ['', 'DELETE FROM deliveries'],
  [' and the table was truncated', 'TRUNCATE deliveries'],
])('delivery statements planned after everything was delivered%s', (_, emptied) => {
  it.each([1, 8])(
    'with %i partners, no delivery statement scans all due notifications, whether ANALYZE has run on the tables or not',
    async (count) => {
      const partners = partnersOf(count);
      await fill(partners);
      await owe();
      await app.given.slowSql(emptied);
      await app.given.slowSql('DELETE FROM domain_events WHERE settled_at IS NULL');
      await app.given.slowSql(
        'VACUUM (ANALYZE) deliveries, notifications, notification_attempts, domain_events, subscriptions',
      );
      // Runs ANALYZE on the tables that have grown, as the service does every second.
      await app.app.get(DeliverySchedule).analyseGrown();
      await planAll();
      await expectFewLookedAt(await owe(), partners);
    },
  );
});

test('resets the planner statistics of a table that was analysed while empty, unless VACUUM is locking the table', async () => {
  const believed = () => app.given.slowSql(`SELECT reltuples FROM pg_class WHERE oid = 'deliveries'::regclass`);
  await app.given.slowSql('VACUUM (ANALYZE) deliveries');
  const release = await app.given.lock('LOCK TABLE deliveries IN SHARE UPDATE EXCLUSIVE MODE');
  await app.app.get(DeliverySchedule).analyseGrown();
  expect(await believed()).toEqual([{ reltuples: 0 }]);
  await release();
  await app.app.get(DeliverySchedule).analyseGrown();
  expect(await believed()).toEqual([{ reltuples: -1 }]);
});
