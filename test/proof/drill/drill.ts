/**
 * Tests a backup and its restore in the installation of docker-compose.scale.yml, but without containers: Debian's
 * PostgreSQL 15 with a synchronous standby, pgbouncer, HAProxy and four processes of the service. Each part uses its
 * script or configuration from deploy/. The migrations run with the database role that owns the tables, and the
 * processes run with a least-privilege role.
 *
 * 1. Behind pgbouncer in transaction mode, the service refuses to start and prints one line that says why. In session
 *    mode, which the shipped configuration sets, the service works.
 * 2. `pg_dump` runs while bookings are created, moved and cancelled and a client follows the change feed.
 * 3. All servers are lost. The dump is restored into a new server, and the processes start again.
 * 4. The audit log matches its seals, and everything that was acknowledged before the dump exists. The partner has
 *    received every event of every existing booking, in order, and each event under only one id. The feed's client
 *    continues from its cursor without a gap. New bookings can be created, and the partner is notified of them.
 *
 * usage: npm run drill   (the exit code is 1 when any of these fails). Needs root on Debian 12.
 */
import 'reflect-metadata';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startPartner } from '../../support/partner.js';
import { BookingLoad, subscribe } from '../chaos/booking-load.js';
import { settle } from '../chaos/chaos-judge.js';
import { Ledger } from '../chaos/chaos-ledger.js';
import { runCommand } from '../../../bench/command.js';
import { until } from '../daemon.js';
import { installPrograms } from '../debian.js';
import { freePort, haproxy, pgbouncer } from '../deployed.js';
import { FeedFollower } from '../failover/feed-follower.js';
import { prepare } from '../../../bench/prepare.js';
import { ServiceProcess } from '../../../bench/service-process.js';
import { startBehindTransactionMode } from './poolers.js';
import { DebianPostgres } from './postgres-servers.js';

const ADMIN = join(__dirname, '../../../src/admin.js');
const MIGRATION = join(__dirname, '../../../src/migrate-database.js');
/** The database role of the service's processes, which owns no tables. */
const ROLE = 'eligibility_service';
const TRAFFIC_MS = 3_000;
const SECRETS_KEY = randomBytes(32).toString('base64');

const say = (what: string) => process.stdout.write(`${what}\n`);

async function main(): Promise<void> {
  installPrograms('postgres', 'haproxy', 'pgbouncer');
  const ends: (() => Promise<unknown>)[] = [];
  try {
    await drill((end) => ends.push(end));
  } finally {
    for (const end of ends.reverse()) await end().catch(() => undefined);
  }
}

async function drill(onEnd: (end: () => Promise<unknown>) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'drill-'));
  chmodSync(folder, 0o755);
  onEnd(() =>
    process.env['DRILL_KEEP'] ? Promise.resolve(say(folder)) : rm(folder, { recursive: true, force: true }),
  );
  const [password, servicePassword, replicationPassword] = Array.from({ length: 3 }, () =>
    randomBytes(16).toString('hex'),
  );
  const primary = await DebianPostgres.primary(folder, 'primary', password);
  onEnd(() => primary.kill('SIGQUIT'));
  primary.makeRole(servicePassword);
  await primary.prepareForStandby(replicationPassword);
  const standby = await DebianPostgres.standby(folder, primary, replicationPassword);
  onEnd(() => standby.kill('SIGQUIT'));
  await until(
    'commits wait for the standby',
    async () => {
      const [row] = await primary.query('SELECT sync_state FROM pg_stat_replication');
      return row['sync_state'] === 'sync';
    },
    30_000,
  );
  say(`transaction mode: ${await startBehindTransactionMode(folder, primary, password)}`);

  const [port, status, pooled, ...own] = await Promise.all(Array.from({ length: 7 }, freePort));
  migrateAsOwner(primary.url);
  const url = `postgres://${ROLE}:${servicePassword}@127.0.0.1:${pooled}/eligibility`;
  const services = processesOf(folder, own, url, port);
  const proxy = haproxy(folder, ['haproxy.cfg'], {
    'bind :8080': `bind 127.0.0.1:${port}`,
    'bind :8404': `bind 127.0.0.1:${status}`,
    'api-1:3000': `127.0.0.1:${own[0]}`,
    'api-2:3000': `127.0.0.1:${own[1]}`,
  });
  onEnd(() => proxy.kill());
  proxy.start();
  for (const service of services) onEnd(() => service.kill('SIGKILL'));
  const poolerOf = (server: DebianPostgres) => {
    const database = { host: '127.0.0.1', port: server.port };
    return pgbouncer(folder, { database, user: ROLE, password: servicePassword, port: pooled });
  };
  const pooler = poolerOf(primary);
  onEnd(() => pooler.kill());
  pooler.start();
  const baseUrl = `http://127.0.0.1:${port}`;
  const start = async (): Promise<void> => {
    await Promise.all(services.map((service) => service.start()));
    await until(
      'the proxy leads to a process that is ready',
      async () => (await fetch(`${baseUrl}/health/ready`)).ok,
      30_000,
    );
  };
  await start();

  const partner = await startPartner();
  onEnd(() => partner.stop());
  const { account, token } = await prepare(primary.url);
  await subscribe(baseUrl, account, token, partner);
  const ledger = new Ledger();
  ledger.listenTo(partner);
  // The `feed` client also reads changes that will be missing in the dump. The `rested` client stops reading before the
  // dump, and keeps its earlier cursor.
  const feed = await FeedFollower.start(baseUrl, account, token);
  const rested = await FeedFollower.start(baseUrl, account, token);
  const load = new BookingLoad({ baseUrl: () => baseUrl, account, token, restMs: 20 });
  await pause(TRAFFIC_MS);

  await rested.rest();
  const before = { bookings: new Map(load.acknowledged), eligibilities: new Set(load.eligibilities) };
  const dump = join(folder, 'eligibility.dump');
  const dumping = Date.now();
  const pgDump = primary.background('pg_dump', '--format', 'custom', '--file', dump);
  await until('the dump is there', () => !pgDump.isRunning, 60_000);
  say(
    `dumped in ${Date.now() - dumping} ms under traffic: ${statSync(dump).size} bytes, ${before.bookings.size} bookings before it`,
  );
  await pause(TRAFFIC_MS);
  ledger.killed();
  await Promise.all(services.map((service) => service.kill('SIGKILL')));
  await Promise.all([primary.kill('SIGKILL'), standby.kill('SIGKILL'), pooler.kill()]);
  await load.stop();

  const restored = await DebianPostgres.primary(folder, 'restored', password);
  onEnd(() => restored.kill('SIGQUIT'));
  // The dump contains the rights of the service's database role, but not the role itself.
  restored.makeRole(servicePassword);
  const restoring = Date.now();
  restored.run('pg_restore', '--exit-on-error', dump);
  say(`restored in ${Date.now() - restoring} ms`);
  const poolerOfRestored = poolerOf(restored);
  onEnd(() => poolerOfRestored.kill());
  poolerOfRestored.start();
  await start();
  rested.goOn();

  const after = new BookingLoad({ baseUrl: () => baseUrl, account, token, restMs: 20 });
  await pause(TRAFFIC_MS);
  await after.stop();
  await settle(restored.url);
  const faults = {
    ...told(ledger, await restored.query('SELECT booking_code, event_sequence FROM bookings')),
    ...(await feedFaults(feed, rested, before, after)),
    'attempts overtaken or in flight twice': ledger.overtaken + ledger.inFlightTwice,
    'no booking made after the restore': after.acknowledged.size === 0 ? 1 : 0,
  };
  say(`audit: ${verifyAudit(folder, restored.url)}`);
  for (const [fault, count] of Object.entries(faults)) say(`${fault}: ${count}`);
  say(`${after.acknowledged.size} bookings after the restore, ${ledger.accepted.size} events accepted`);
  if (Object.values(faults).some((count) => count > 0)) throw new Error('The restore is not what it should be.');
}

/** Runs the migrations in the same way as the migration service in the compose file. */
function migrateAsOwner(url: string): void {
  const env = { PATH: process.env['PATH'], DATABASE_URL: url };
  const { status, stderr } = spawnSync(process.execPath, [MIGRATION, '--grant-to', ROLE], { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The migration ended with ${status}: ${stderr}`);
}

/** Starts two API and two delivery processes, like docker-compose.scale.yml. */
function processesOf(folder: string, ports: readonly number[], url: string, proxyPort: number): ServiceProcess[] {
  return ['api', 'api', 'delivery', 'delivery'].map(
    (roles, index) =>
      new ServiceProcess(join(folder, `service-${index}`), {
        DATABASE_URL: url,
        SECRETS_KEY,
        ROLES: roles,
        HOST: '127.0.0.1',
        PORT: String(ports[index]),
        BASE_URL: `http://127.0.0.1:${proxyPort}`,
        TRUST_PROXY: '1',
        PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
        RATE_LIMIT_PER_MINUTE: '0',
      }),
  );
}

/** Checks that every event of every existing booking has reached the partner, under one id. */
function told(ledger: Ledger, bookings: readonly Record<string, unknown>[]): Record<string, number> {
  const ids = new Map<string, number>();
  for (const { booking, sequence } of ledger.accepted.values()) {
    const event = `${booking} ${sequence}`;
    ids.set(event, (ids.get(event) ?? 0) + 1);
  }
  const events = bookings.flatMap((row) =>
    Array.from(
      { length: row['event_sequence'] as number },
      (_, index) => `${String(row['booking_code'])} ${index + 1}`,
    ),
  );
  return {
    'events that the partner does not have': events.filter((event) => !ids.has(event)).length,
    'events that it has under two ids': events.filter((event) => (ids.get(event) ?? 0) > 1).length,
  };
}

/**
 * Checks that the feed contains the changes that were acknowledged before the dump or after the restore. Changes
 * between the dump and the restore are lost. A client that has read lost changes must read the feed again from the
 * beginning.
 */
async function feedFaults(
  feed: FeedFollower,
  rested: FeedFollower,
  before: { bookings: Map<string, number>; eligibilities: Set<string> },
  after: BookingLoad,
): Promise<Record<string, number>> {
  const bookings = new Map([...before.bookings, ...after.acknowledged]);
  const eligibilities = new Set([...before.eligibilities, ...after.eligibilities]);
  const [told, kept] = [await feed.judge(eligibilities, bookings), await rested.judge(eligibilities, bookings)];
  say(`the cursor of a client that was told of lost changes expired ${told.expired} times`);
  return {
    'acknowledged and not in the feed': kept.missing,
    'passed over by a client of the feed': told.skipped + kept.skipped,
    'shown to one twice': told.twice + kept.twice,
    'lost changes that one still believes in': told.vanished + kept.vanished,
    'cursors from before the dump that expired': kept.expired,
  };
}

function verifyAudit(folder: string, url: string): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [ADMIN, 'verify-audit'], {
    env: { ...process.env, NODE_ENV: 'production', DATABASE_URL: url, SECRETS_KEY, DATA_DIR: join(folder, 'admin') },
    encoding: 'utf8',
  });
  if (status !== 0 || !/seals [1-9]/.test(stdout))
    throw new Error(`verify-audit ended with ${status}: ${stdout}${stderr}`);
  return stdout.trim();
}

runCommand(main);
