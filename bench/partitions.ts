/**
 * Whether notifications and their attempts stay as quick as they are in one table each, or would be quicker in partitions by
 * position: the same statements on the same rows, one way after the other.
 *
 * usage: npm run build && node dist/bench/partitions.js [--rows 20000000] [--partitions 12] [--calls 300]
 */
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { leaseToken } from '../src/notifications/delivery/delivery-lease.js';
import { CLAIM } from '../src/notifications/delivery/delivery-statements.js';
import { REMOVE } from '../src/notifications/delivery/notification-retention.js';
import { RECORD_DELIVERED } from '../src/notifications/delivery/record-statements.js';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { migrate } from '../src/platform/database/migrate.js';
import { runCommand } from './command.js';
import { median, round } from './figures.js';
import { CLAIMED_PARTNER, seedBacklog, seedPartners } from './seed.js';
import { removeDataFolder } from './stage.js';

const BATCH = 1_000_000;
const AT_ONCE = 32;
const MONTHS = 12;
const PARTNERS = 20;
/** One of so many is in the error queue, evenly. */
const QUEUED_OF = 20;
/** A sweep of the oldest month that long tells enough. */
const SWEEP_MS = 60_000;
const TABLES = ['notifications', 'notification_attempts'];

type Way = 'one table' | 'partitions';
type Figures = Map<string, string>;

/** $1 and $2 numbers, $3 of how many. Two of each booking; a body of half the size that it has. */
const NOTIFICATIONS = `INSERT INTO notifications (id, event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
    effective_date, body, state, retry, failure, http_status, queued_datetime, created_datetime, delivered_datetime)
  SELECT gen_random_uuid(), md5(n::text)::uuid, ('00000000-0000-4000-8000-' || lpad((n % ${PARTNERS})::text, 12, '0'))::uuid,
    'BOARD', 'BOOKING_CREATED', 'B' || lpad((n / 2)::text, 9, '0'), n % 2 + 1, made,
    json_build_object('booking_on', '2027-03-01T09:00:00Z', 'rest', repeat('.', 150)),
    CASE WHEN queued THEN 'ERROR_QUEUE' ELSE 'DELIVERED' END, CASE WHEN queued THEN 'MANUAL' END,
    CASE WHEN queued THEN 'client_error' END, CASE WHEN queued THEN 400 END, CASE WHEN queued THEN made END, made,
    CASE WHEN NOT queued THEN made END
  FROM generate_series($1::int, $2::int) AS n CROSS JOIN LATERAL (SELECT n % ${QUEUED_OF} = 0 AS queued,
    now() - interval '1 year' * (1 - n::float8 / $3::int) AS made) AS told ORDER BY n`;
const ATTEMPTS = `INSERT INTO notification_attempts (notification_position, subscription_id, at, duration_ms, trigger, http_status)
  SELECT n, ('00000000-0000-4000-8000-' || lpad((n % ${PARTNERS})::text, 12, '0'))::uuid,
    now() - interval '1 year' * (1 - n::float8 / $3::int), 5, 'FIRST', CASE WHEN n % ${QUEUED_OF} = 0 THEN 400 ELSE 200 END
  FROM generate_series($1::int, $2::int) AS n ORDER BY n`;

/** Takes the tables' keys and indexes away; answers with what makes them again, in partitions with the position in each unique one. */
async function bare(client: pg.Client, way: Way): Promise<string[]> {
  const { rows } = await client.query<{ name: string; indexdef: string; constrained: boolean }>(
    `SELECT indexname AS name, indexdef, EXISTS (SELECT FROM pg_constraint WHERE conname = indexname) AS constrained
     FROM pg_indexes WHERE tablename = ANY ($1) AND schemaname = 'public'`,
    [TABLES],
  );
  for (const { name, constrained } of rows)
    await client.query(
      constrained ? `ALTER TABLE notifications DROP CONSTRAINT ${name} CASCADE` : `DROP INDEX ${name}`,
    );
  const unique = (definition: string) =>
    way === 'partitions' && definition.includes('UNIQUE') && !/\("?position"?\)$/.test(definition)
      ? definition.replace(/\)$/, ', position)')
      : definition;
  return rows.map(({ indexdef }) => unique(indexdef));
}

/** Each table again, in partitions of as many positions. */
async function part(client: pg.Client, rows: number, partitions: number): Promise<void> {
  for (const [table, key] of [
    [TABLES[0], 'position'],
    [TABLES[1], 'notification_position'],
  ]) {
    await client.query(`ALTER TABLE ${table} RENAME TO ${table}_whole`);
    await client.query(
      `CREATE TABLE ${table} (LIKE ${table}_whole INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (${key})`,
    );
    for (let number = 0; number <= partitions; number++) {
      const bound = (at: number) => (at > partitions ? 'MAXVALUE' : String(1 + Math.ceil((rows * at) / partitions)));
      const storage = table === 'notifications' ? 'WITH (fillfactor = 45)' : '';
      await client.query(
        `CREATE TABLE ${table}_${number} PARTITION OF ${table} FOR VALUES FROM (${bound(number)}) TO (${bound(number + 1)}) ${storage}`,
      );
    }
  }
  // A partitioned table of PostgreSQL 15 has no identity.
  await client.query(
    `ALTER TABLE notifications ALTER COLUMN position SET DEFAULT nextval('notifications_position_seq')`,
  );
}

async function fill(client: pg.Client, way: Way, rows: number, partitions: number): Promise<void> {
  const indexes = await bare(client, way);
  if (way === 'partitions') await part(client, rows, partitions);
  await client.query('SET session_replication_role = replica');
  await seedPartners(client, 'BOARD', PARTNERS);
  for (const statement of [NOTIFICATIONS, ATTEMPTS])
    for (let from = 1; from <= rows; from += BATCH)
      await client.query(statement, [from, Math.min(rows, from + BATCH - 1), rows]);
  for (const definition of indexes) await client.query(definition);
  await seedBacklog(client, 'BOARD');
  await client.query('SET session_replication_role = origin');
  await client.query('VACUUM (ANALYZE)');
}

/** The p50 of as many executions, each undone. */
async function p50(client: pg.Client, calls: number, call: (number: number) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  // The first tenth warms up.
  for (let number = -Math.ceil(calls / 10); number < calls; number++) {
    await client.query('BEGIN');
    const begun = performance.now();
    await call(Math.abs(number));
    if (number >= 0) times.push(performance.now() - begun);
    await client.query('ROLLBACK');
  }
  return median(times);
}

const PAGE = `SELECT n.position, n.id, n.account_code, n.subscription_id, n.change_reason, n.booking_code, n.event_sequence,
    n.effective_date, n.retry, n.failure, n.http_status, n.created_datetime
  FROM notifications n WHERE n.queued_datetime IS NOT NULL AND n.position < $1 ORDER BY n.position DESC LIMIT 51`;
const READS = {
  'error-queue page': PAGE,
  'one by its id': 'SELECT * FROM notifications WHERE id = $1',
  'whether an event was told before':
    'SELECT FROM notifications WHERE event_id = $1 AND subscription_id = gen_random_uuid()',
  'a booking’s notifications': 'SELECT * FROM notifications WHERE booking_code = $1 ORDER BY position DESC LIMIT 51',
} as const;

async function measure(client: pg.Client, way: Way, rows: number, calls: number): Promise<Figures> {
  const figures: Figures = new Map();
  const note = (name: string, ms: number) => figures.set(name, `${round(ms)} ms`);
  const claim = async () =>
    (
      await client.query<{ position: number; lease_token: number }>({
        ...CLAIM,
        values: [[CLAIMED_PARTNER], [AT_ONCE], 10_000, leaseToken()],
      })
    ).rows;
  note(`claim of ${AT_ONCE}`, await p50(client, calls, claim));
  await client.query('BEGIN');
  const claimed = await claim();
  await client.query('COMMIT');
  if (claimed.length !== AT_ONCE) throw new Error(`${claimed.length} notifications were claimed.`);
  const of = <T>(value: T) => claimed.map(() => value);
  const values = [
    of(CLAIMED_PARTNER),
    claimed.map(({ position }) => position),
    claimed.map((row) => row.lease_token),
    of('FIRST'),
    of(null),
    of(false),
    of(new Date()),
    of(5),
    of(null),
  ];
  note(`record of ${AT_ONCE} delivered`, await p50(client, calls, () => client.query({ ...RECORD_DELIVERED, values })));
  const scattered = (call: number) => ((call * 7_919_911) % rows) + 1;
  const { rows: some } = await client.query<{ id: string }>(`SELECT id FROM notifications WHERE position = ANY ($1)`, [
    Array.from({ length: calls }, (_, call) => scattered(call)),
  ]);
  const asked: Record<keyof typeof READS, (call: number) => unknown> = {
    'error-queue page': scattered,
    'one by its id': (call) => some[call % some.length].id,
    'whether an event was told before': () => '00000000-0000-7000-8000-000000000000',
    'a booking’s notifications': (call) => 'B' + String(Math.floor(scattered(call) / 2)).padStart(9, '0'),
  };
  for (const [name, text] of Object.entries(READS) as [keyof typeof READS, string][])
    note(name, await p50(client, calls, (call) => client.query({ name, text, values: [asked[name](call)] })));
  for (const [name, value] of await retention(client, way, rows)) figures.set(name, value);
  return figures;
}

/** The oldest twelfth goes: its delivered rows by the sweep's own statement, or as a whole once its queue has been moved. */
async function retention(client: pg.Client, way: Way, rows: number): Promise<Figures> {
  const begun = performance.now();
  const seconds = () => (performance.now() - begun) / 1000;
  if (way === 'one table') {
    let removed = 0;
    const batches: number[] = [];
    for (let after = 0; after < rows / MONTHS && seconds() * 1000 < SWEEP_MS;) {
      const asked = performance.now();
      const [stretch] = (await client.query<{ last: number; removed: number }>({ ...REMOVE, values: [after, 90] }))
        .rows;
      batches.push(performance.now() - asked);
      removed += Number(stretch.removed);
      after = Number(stretch.last);
    }
    return new Map([
      ['retention: rows a second', `${round(removed / seconds())} (a batch of 1,000: ${round(median(batches))} ms)`],
    ]);
  }
  // The queue never goes away by itself: what is in it moves to a partition of its own before.
  await client.query('BEGIN');
  const { rowCount } = await client.query(
    'CREATE TEMP TABLE kept AS SELECT * FROM notifications_0 WHERE queued_datetime IS NOT NULL',
  );
  await client.query('DROP TABLE notifications_0, notification_attempts_0');
  await client.query('COMMIT');
  const moved = `with ${rowCount} queued copied out, ${round(seconds())} s`;
  return new Map([['retention: rows a second', `${round(rows / MONTHS / seconds())} (${moved})`]]);
}

async function fillAndMeasure(
  client: pg.Client,
  way: Way,
  rows: number,
  partitions: number,
  calls: number,
): Promise<Figures> {
  const begun = performance.now();
  await fill(client, way, rows, partitions);
  process.stderr.write(`${way}: filled in ${round((performance.now() - begun) / 1000)} s\n`);
  return measure(client, way, rows, calls);
}

/** A database with the schema of the service, which is gone afterwards: there is room for one at a time. */
async function withDatabase<T>(server: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await admin.query('CREATE DATABASE measured');
  const url = new URL(server);
  url.pathname = 'measured';
  await migrate(url.href);
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
    await admin.query('DROP DATABASE measured');
    await admin.end();
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '20000000' },
      partitions: { type: 'string', default: String(MONTHS) },
      calls: { type: 'string', default: '300' },
    },
  });
  const [rows, partitions, calls] = [values.rows, values.partitions, values.calls].map(Number);
  const folder = mkdtempSync(join(tmpdir(), 'eligibility-bench-'));
  chmodSync(folder, 0o755);
  const settings = { autovacuum: 'off', max_wal_size: '8GB', maintenance_work_mem: '512MB' };
  const postgres = await startEmbeddedPostgres({ dataDir: folder, database: 'bench', settings });
  try {
    const found = new Map<Way, Figures>();
    for (const way of ['one table', 'partitions'] as const)
      found.set(
        way,
        await withDatabase(postgres.url, (client) => fillAndMeasure(client, way, rows, partitions, calls)),
      );
    process.stdout.write(`| ${rows} notifications | one table | ${partitions} partitions |\n| --- | --- | --- |\n`);
    for (const [name, value] of found.get('one table')!)
      process.stdout.write(`| ${name} | ${value} | ${found.get('partitions')!.get(name)} |\n`);
  } finally {
    await postgres.stop();
    removeDataFolder(folder);
  }
}

runCommand(main);
