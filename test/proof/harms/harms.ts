/**
 * Tests that nothing is lost when processes, clocks or disks fail while all kinds of work are in progress.
 *
 * Three processes of the service (two `api,delivery`, one `delivery`) share one PostgreSQL. Candidates are imported and
 * erased, results are delivered, bookings are created, moved and cancelled, and bulk jobs replay notifications. One
 * partner accepts everything. The second partner has a rate limit and answers 429 above it. Each round causes one
 * failure:
 *
 * - kill: SIGKILL of a process of the service or of PostgreSQL;
 * - clock: the clocks of the service and of PostgreSQL are set forward or back by an hour for a few seconds;
 * - read-only: PostgreSQL refuses writes for a minute;
 * - disk: the disk of PostgreSQL is full for three seconds.
 *
 * At the end, all work must be complete. A table shows everything that was lost, duplicated or out of order, as
 * ../chaos/chaos.ts defines these faults. A notification may be delivered twice only if a failure occurred between the
 * two deliveries.
 *
 * usage: npm run harms [-- --rounds kill=200,clock=10,read-only=3,disk=10]   (the exit code is 1 when the program finds
 * a fault; needs root on Debian 12)
 */
import 'reflect-metadata';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { runCommand } from '../../../bench/command.js';
import { prepare, query } from '../../../bench/prepare.js';
import { ServiceProcess } from '../../../bench/service-process.js';
import { migrate } from '../../../src/platform/database/migrate.js';
import { startPartner } from '../../support/partner.js';
import { BookingLoad, subscribe } from '../chaos/booking-load.js';
import { judge, settle } from '../chaos/chaos-judge.js';
import { Ledger } from '../chaos/chaos-ledger.js';
import { PacedLedger } from '../chaos/paced-ledger.js';
import { installPrograms } from '../debian.js';
import { DebianPostgres } from '../drill/postgres-servers.js';
import { temporaryFolder } from '../own-database.js';
import { fillDisk, mountSmallDisk } from '../small-disk.js';
import { withStops, type Stop } from '../stops.js';
import { BackgroundWork, wrongOf } from './background-work.js';

const KINDS = ['kill', 'clock', 'read-only', 'disk'] as const;
type Kind = (typeof KINDS)[number];
const DEFAULT_ROUNDS = 'kill=200,clock=10,read-only=3,disk=10';

const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
const CLOCKS = ['+1h', '-1h'];
const CLOCK_MS = 6_000;
const READ_ONLY_MS = 60_000;
/** The time between two failures, in milliseconds. */
const REST_MS = 1_500;

/** Returns the kind of failure for each round, in the order in which the rounds run. */
function roundsOf(text: string): Kind[] {
  const counts = text.split(',').map((one) => one.split('='));
  for (const [kind] of counts) if (!KINDS.includes(kind as Kind)) throw new Error(`There is no harm ${kind}.`);
  const total = counts.reduce((sum, [, count]) => sum + Number(count), 0);
  // The rounds of each kind are spread evenly over the whole run.
  return counts
    .flatMap(([kind, count]) =>
      Array.from({ length: Number(count) }, (_, at) => ({
        kind: kind as Kind,
        place: ((at + 0.5) * total) / Number(count),
      })),
    )
    .sort((a, b) => a.place - b.place)
    .map(({ kind }) => kind);
}

async function run(stops: Stop[]): Promise<boolean> {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: DEFAULT_ROUNDS } } });
  const rounds = roundsOf(values.rounds);
  installPrograms('postgres', 'faketime');
  const folder = temporaryFolder('harms', stops);
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  const unmounts: (() => unknown)[] = [];
  const hasDisk = mountSmallDisk(disk, unmounts);
  if (!hasDisk && rounds.includes('disk')) throw new Error('A small disk cannot be mounted.');
  stops.push(() => Promise.all(unmounts.map((unmount) => unmount())));
  const clock = join(folder, 'clock');
  writeFileSync(clock, '+0', { mode: 0o644 });
  // Every program that is started from here on reads the offset of its clock from this file. This program keeps the
  // real clock.
  Object.assign(process.env, {
    LD_PRELOAD: FAKETIME,
    FAKETIME_TIMESTAMP_FILE: clock,
    // All processes of PostgreSQL see a jump at the same time, as on a real machine.
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  });
  const server = await DebianPostgres.primary(disk, 'database', 'secret', ['max_wal_size=256MB']);
  stops.push(() => server.kill('SIGINT'));
  const { url } = server;
  await migrate(url);
  const { account, token } = await prepare(url);
  const env = {
    DATABASE_URL: url,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    RATE_LIMIT_PER_MINUTE: '0',
    RESULT_MIB_PER_DAY: '0',
    RETRY_SCHEDULE_S: '0.2,0.5,1',
  };
  const services = ['api,delivery', 'api,delivery', 'delivery'].map(
    (roles, index) => new ServiceProcess(join(folder, `service-${index}`), { ...env, ROLES: roles }),
  );
  for (const service of services) stops.push(() => service.kill('SIGTERM'));
  await Promise.all(services.map((service) => service.start()));
  const baseUrl = () => services[randomInt(2)].baseUrl;
  const [plain, paced] = [new Ledger(), new PacedLedger()];
  const ids: string[] = [];
  for (const ledger of [plain, paced]) {
    const partner = await startPartner();
    stops.push(() => partner.stop());
    ids.push(await subscribe(baseUrl(), account, token, partner));
    ledger.listenTo(partner);
  }
  const load = new BookingLoad({ baseUrl, account, token, restMs: 100, timeoutMs: 10_000 });
  const other = await prepare(url, 'work');
  const work = new BackgroundWork({ baseUrl, url: () => url, ...other, subscriptionId: ids[1] });

  const harms: Record<Kind, () => Promise<void>> = {
    kill: async () => {
      const victim = randomInt(4);
      if (victim < services.length) await services[victim].kill('SIGKILL');
      else await server.kill('SIGKILL');
      await server.start();
    },
    clock: async () => {
      writeFileSync(clock, CLOCKS[randomInt(CLOCKS.length)]);
      await pause(CLOCK_MS);
      writeFileSync(clock, '+0');
      await pause(CLOCK_MS / 2);
    },
    'read-only': async () => {
      await query(url, `ALTER SYSTEM SET default_transaction_read_only = on`);
      await query(url, 'SELECT pg_reload_conf()');
      await pause(READ_ONLY_MS);
      await query(url, 'ALTER SYSTEM RESET default_transaction_read_only');
      await query(url, 'SELECT pg_reload_conf()');
    },
    disk: async () => {
      await fillDisk(disk);
      await server.start();
    },
  };
  for (const [at, kind] of rounds.entries()) {
    await pause(randomInt(REST_MS, 2 * REST_MS));
    // The ledgers repeatedly record a kill while the failure lasts, because an attempt that the ledgers do not observe
    // may take place at any moment.
    [plain, paced].forEach((ledger) => ledger.killed());
    const marks = setInterval(() => [plain, paced].forEach((ledger) => ledger.killed()), 200);
    try {
      await harms[kind]();
      await query(url, 'SELECT 1');
      await Promise.all(services.filter((service) => !service.isRunning).map((service) => service.start()));
    } finally {
      clearInterval(marks);
      [plain, paced].forEach((ledger) => ledger.killed());
    }
    process.stdout.write(
      `${at + 1}/${rounds.length} ${kind}: ${load.acknowledged.size} bookings, ` +
        `${plain.accepted.size} and ${paced.accepted.size} events accepted, ${paced.busy} times 429\n`,
    );
  }
  await load.stop();
  await work.stop();
  await work.settle();
  await settle(url);
  const verdicts = [await judge(url, account, load, plain), await judge(url, account, load, paced)];
  const done = await work.judge();
  const both = (figure: (index: 0 | 1) => number) => `${figure(0)}, ${figure(1)}`;
  const ledgers = [plain, paced] as const;
  process.stdout.write(
    [
      '',
      `rounds                     ${KINDS.map((kind) => `${rounds.filter((one) => one === kind).length} ${kind}`).join(', ')}`,
      `bookings: calls            ${load.calls}, ${load.failures} failed`,
      `  events committed         ${verdicts[0].committed}`,
      `  events accepted          ${both((n) => ledgers[n].accepted.size)}; the second partner answered ${paced.busy} times 429`,
      `  lost                     ${both((n) => verdicts[n].lost)}`,
      `  phantom                  ${both((n) => verdicts[n].phantom)}`,
      `  gaps                     ${both((n) => verdicts[n].gaps)}`,
      `  in flight twice          ${both((n) => ledgers[n].inFlightTwice)}`,
      `  overtaken                ${both((n) => ledgers[n].overtaken)}`,
      `  doubled without a harm   ${verdicts[0].unexplained}, of ${verdicts[0].duplicates} doubled`,
      `imports                    ${done.imports}, not done: ${done.unfinishedImports}; rows lost: ${done.lostRows}, doubled: ${done.doubledRows}`,
      `erasures                   ${done.erasures}, not done: ${done.unfinishedErasures}`,
      `bulk jobs                  ${done.jobs}, not done: ${done.unfinishedJobs}; with wrong sums: ${done.wrongSums}`,
      `results                    ${done.results}, lost: ${done.lostResults}`,
      '',
    ].join('\n'),
  );
  const wrong = [
    ...verdicts.flatMap(({ lost, phantom, gaps }) => [lost, phantom, gaps]),
    ...ledgers.flatMap(({ inFlightTwice, overtaken }) => [inFlightTwice, overtaken]),
    verdicts[0].unexplained,
    wrongOf(done),
  ];
  const worked = [plain.accepted.size, paced.accepted.size, paced.busy, done.imports, done.erasures, done.jobs];
  return wrong.every((count) => count === 0) && [...worked, done.results].every((count) => count > 0);
}

runCommand(() => withStops(run));
