/**
 * Runs a service continuously, and simulates weeks of operation in an hour or two.
 *
 * Clients create, read and list records, book and cancel exams, and follow the feed. A partner is notified. At the end
 * of each simulated day, the sandbox's clock is set forward by a day, so that retention, sweeps and rotation run. The
 * program prints each day's resident memory, open files and table sizes. Figures that should not grow are compared with
 * their values after the first retention period.
 *
 * usage: npm run build && node dist/bench/soak.js [--days 40] [--minutes 100] (goals for the ratio of the last quarter
 * of the days to the second quarter: at most 1.15 for memory, files and each table with a retention period; at most
 * 1.05 for the bytes of a row that is kept)
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { runCommand } from './command.js';
import { median } from './figures.js';
import { Load } from './load.js';
import { Program } from './program.js';
import { residentMiB } from './processor-time.js';
import type { ReceiverReady } from './receiver.js';
import { BenchedService } from './service.js';
import { Stage } from './stage.js';

const DAY_S = 86_400;
const RETENTION = { NOTIFICATION_RETENTION_DAYS: '5', CHANGES_RETENTION_DAYS: '5', REFRESH_TOKEN_TTL_S: String(DAY_S) };
/**
 * The first list contains the tables whose rows are deleted after a retention period. The second list contains the
 * tables whose rows are kept. The change feed is in the second list, because its entries are deleted only after the end
 * of their month. The size of a table includes its partitions.
 */
const PASSING = [
  'domain_events',
  'notifications',
  'notification_attempts',
  'deliveries',
  'access_tokens',
  'token_families',
];
const KEPT = ['eligibilities', 'bookings', 'audit_log', 'changes'];

const SIZES = `SELECT name, sum(pg_table_size(part.oid))::float8 / 1048576 AS table_mib, sum(pg_indexes_size(part.oid))::float8 / 1048576 AS index_mib,
    sum(greatest(part.reltuples, 1))::float8 AS rows
  FROM unnest($1::text[]) AS name
  JOIN pg_class part ON part.relkind = 'r' AND (part.oid = name::regclass
    OR part.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = name::regclass))
  GROUP BY name`;

interface Size {
  name: string;
  table_mib: number;
  index_mib: number;
  rows: number;
}

/** The figures that are measured at the end of a simulated day, by name. */
type Day = Map<string, number>;

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: { days: { type: 'string', default: '40' }, minutes: { type: 'string', default: '100' } },
  });
  const days = Number(values.days);
  const seconds = (Number(values.minutes) * 60) / days;
  const stage = await Stage.open();
  try {
    const receiver = await Program.start<ReceiverReady>('receiver', {}, stage.log);
    stage.onClear(() => receiver.stop());
    const databaseUrl = await stage.createDatabase('soak');
    const service = await BenchedService.start(join(stage.folder, 'soak'), databaseUrl, RETENTION);
    stage.onClear(() => service.stop());
    await service.subscribe(await service.operatorToken(), receiver.ready);
    const load = await Load.start(stage.log);
    stage.onClear(() => load.stop());
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    stage.onClear(() => client.end());
    const lived: Day[] = [];
    let calls = 0;
    for (let day = 1; day <= days; day++) {
      const token = await service.clientToken();
      const { scene, url } = service;
      const { requests } = await load.run({ url, kind: 'day', scene, token, candidates: 0, label: `d${day}`, seconds });
      calls += requests;
      await untilDelivered(client);
      await service.call(await service.operatorToken(), 'POST', '/sandbox/clock', { advance_s: DAY_S });
      // The tables are vacuumed and analysed, as autovacuum would do during a day of real time.
      await client.query('VACUUM (ANALYZE)');
      lived.push(await look(service, client));
      process.stdout.write(
        `day ${day}: ${calls} calls; ` +
          [...lived.at(-1)!].map(([name, value]) => `${name} ${value.toFixed(1)}`).join(', ') +
          '\n',
      );
    }
    return verdict(lived, calls);
  } finally {
    await stage.close();
  }
}

/** Waits until the partner has been notified of all bookings, so that the clock is not set forward too early. */
async function untilDelivered(client: pg.Client): Promise<void> {
  const left = `SELECT EXISTS (SELECT FROM deliveries) OR EXISTS (SELECT FROM domain_events WHERE settled_at IS NULL) AS left`;
  while ((await client.query<{ left: boolean }>(left)).rows[0].left) await client.query('SELECT pg_sleep(0.1)');
}

async function look(service: BenchedService, client: pg.Client): Promise<Day> {
  const { rows } = await client.query<Size>(SIZES, [[...PASSING, ...KEPT]]);
  const sizes = new Map(rows.map((row) => [row.name, row]));
  const day: Day = new Map([
    ['resident MiB', residentMiB(service.pid)],
    ['open files', readdirSync(`/proc/${service.pid}/fd`).length],
  ]);
  for (const name of PASSING) {
    const { table_mib, index_mib } = sizes.get(name)!;
    day.set(`${name} MiB`, table_mib).set(`${name} indexes MiB`, index_mib);
  }
  for (const name of KEPT) {
    const { table_mib, index_mib, rows: count } = sizes.get(name)!;
    day.set(`${name} bytes a row`, ((table_mib + index_mib) * 1048576) / count);
  }
  return day;
}

function verdict(lived: readonly Day[], calls: number): boolean {
  const quarter = lived.length / 4;
  const [before, after] = [lived.slice(quarter, 2 * quarter), lived.slice(3 * quarter)];
  let isFlat = true;
  process.stdout.write(`\n${calls} calls, ${lived.length} days: the last quarter of the days to the second, medians\n`);
  for (const name of lived[0].keys()) {
    const [from, to] = [before, after].map((days) => median(days.map((day) => day.get(name)!)));
    const most = name.endsWith('a row') ? 1.05 : 1.15;
    // Any table size up to 1 MiB is accepted, because the size of a small table depends on its last vacuum.
    const isWell = to <= Math.max(from * most, name.endsWith('MiB') ? 1 : 0);
    isFlat &&= isWell;
    process.stdout.write(
      `  ${isWell ? '✓' : '✗'} ${name}: ${from.toFixed(1)}, ${to.toFixed(1)} (${(to / from).toFixed(2)}, at most ${most})\n`,
    );
  }
  return isFlat;
}

runCommand(main);
