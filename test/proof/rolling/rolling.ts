/**
 * Tests that two successive releases can use one database at the same time.
 *
 * Six processes of the earlier release share one PostgreSQL. Bookings are created, moved and cancelled continuously.
 * Processes of the later release replace the six processes one after another. The first new process migrates the
 * database while the remaining old processes write. Then the earlier release replaces the later one in the same way. As
 * behind a proxy, an old process gets no new request once it has been asked to end.
 *
 * If each process had its own machine, the start of a process would take no processor time from the others. In this
 * test, the processes share a machine, although a new process starts at the lowest priority. Calls that are made while
 * a process starts are therefore reported in a separate figure.
 *
 * A second partner gets the same notifications. It polls them as soon as the first process of the later release runs,
 * and cannot poll while all processes run the earlier release. A third partner fails repeatedly, so that an alert sends
 * mails.
 *
 * With `--earlier FOLDER`, the earlier release is the build in this folder, and the later release is the present build.
 * Without this option, the earlier release is the present build, and the later release is the present build with
 * planted migrations (next-release.ts).
 *
 * - faults: responses with 5xx, except 503 with `Retry-After`, and calls without a response;
 * - lost, phantom, gaps, overtaken, in flight twice, duplicates: as in the chaos program (../chaos/chaos.ts), for each
 *   of the two partners;
 * - mails: the mails of the alert, each of which must be sent exactly once;
 * - p99: the p99 of the calls that are made during the rolls while no process starts. It is reported as a multiple of
 *   the p99 in a quiet minute after the first roll, in which the same work was in progress.
 *
 * usage: npm run rolling [-- --rolls N --earlier FOLDER]   (default: 2 rolls, forward and back; the exit code is 1 when
 * anything is found, or the p99 is more than 1.5 times the p99 of the quiet minute; needs root on Linux)
 */
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { runCommand } from '../../../bench/command.js';
import { prepare, query } from '../../../bench/prepare.js';
import { ServiceProcess } from '../../../bench/service-process.js';
import { SCOPES } from '../../../src/platform/context/caller.js';
import { MailServer } from '../../support/mail-server.js';
import { startPartner } from '../../support/partner.js';
import { quantile } from '../../../bench/figures.js';
import { startOwnDatabase } from '../own-database.js';
import { withStops, type Stop } from '../stops.js';
import { BookingLoad, subscribe } from '../chaos/booking-load.js';
import { judge, settle } from '../chaos/chaos-judge.js';
import { Ledger } from '../chaos/chaos-ledger.js';
import { LaterFeatures } from './later-features.js';

const PROCESSES = 6;
const WARM_UP_MS = 10_000;
const QUIET_MS = 60_000;
/** The number of bookings that are made at the same time. A higher number would saturate two cores. */
const WORKERS = 4;
/** The pause of each worker between two bookings, in milliseconds. */
const REST_MS = 25;
/**
 * The delay, in milliseconds, before a process is asked to end. During this delay, calls that have already chosen the
 * process can still connect to it.
 */
const DRAIN_MS = 250;
/**
 * The length of the pause after the start of a process, in milliseconds. Calls that were delayed by the start end
 * during this pause.
 */
const CALM_MS = 500;
/** The time, in milliseconds, between the replacement of a process and the start of the next one (docs/upgrade.md). */
const ROLLED_MS = 15_000;
const MOST_RATIO = 1.5;
/** Release 1.0 does not have the `partner` scope. */
const SCOPES_OF_1_0 = SCOPES.filter((scope) => scope !== 'partner');
/**
 * The compiled main program. The bundle (dist/main.js) is not used, because `--require` cannot change the modules
 * inside a bundle.
 */
const PROGRAM = join(__dirname, '../../../src/main.js');
const NEXT = ['--require', join(__dirname, 'next-release.js'), PROGRAM];

const p99 = (durations: readonly number[]): number => quantile(Float64Array.from(durations).sort(), 0.99);

async function run(stops: Stop[]): Promise<boolean> {
  const { values } = parseArgs({
    options: { rolls: { type: 'string', default: '2' }, earlier: { type: 'string' } },
  });
  const earlier = values.earlier === undefined ? [PROGRAM] : [resolve(values.earlier, 'dist/src/main.js')];
  const later = values.earlier === undefined ? NEXT : [PROGRAM];
  const rolls = Number(values.rolls);
  const database = await startOwnDatabase('rolling', stops);
  const { folder } = database;
  const env = {
    DATABASE_URL: database.url,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    DATABASE_POOL_SIZE: '8',
    HOST: '127.0.0.1',
    PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    RATE_LIMIT_PER_MINUTE: '0',
    RETRY_SCHEDULE_S: '0.2,0.5,1',
  };
  const mail = await MailServer.start();
  stops.push(() => mail.stop());
  Object.assign(env, mail.settings);
  let started = 0;
  const start = async (program: readonly string[]) => {
    const service = new ServiceProcess(join(folder, `service-${++started}`), env, program, started > PROCESSES);
    stops.push(() => service.kill('SIGTERM'));
    await service.start();
    return service;
  };
  const services: ServiceProcess[] = [];
  while (services.length < PROCESSES) services.push(await start(earlier));
  const migrations = async () => Number((await query(database.url, 'SELECT count(*) FROM migrations'))[0]['count']);
  const migrated = await migrations();
  const { account, token } = await prepare(database.url, 'rolling', SCOPES_OF_1_0);
  const [pushed, polled] = [new Ledger(), new Ledger()];
  const subscriptionIds: string[] = [];
  for (const ledger of [pushed, polled]) {
    const partner = await startPartner();
    stops.push(() => partner.stop());
    subscriptionIds.push(await subscribe(services[0].baseUrl, account, token, partner));
    ledger.listenTo(partner);
  }

  let calls = 0;
  const baseUrl = () => services[calls++ % services.length].baseUrl;
  const load = new BookingLoad({ baseUrl, account, token, workers: WORKERS, restMs: REST_MS, timeoutMs: 60_000 });
  await pause(WARM_UP_MS);
  const [quiet, during, whileStarting]: [number[], number[], number[]] = [[], [], []];
  let features: LaterFeatures | null = null;
  for (let roll = 1; roll <= rolls; roll++) {
    const program = roll % 2 === 1 ? later : earlier;
    for (let replaced = 0; replaced < PROCESSES; replaced++) {
      load.durations = whileStarting;
      const service = await start(program);
      await pause(CALM_MS);
      load.durations = during;
      services.push(service);
      features ??= await LaterFeatures.use({
        service,
        url: database.url,
        baseUrl,
        token,
        polledId: subscriptionIds[1],
        ledger: polled,
        mail,
        stops,
      });
      const leaving = services.shift()!;
      await pause(DRAIN_MS);
      await leaving.kill('SIGTERM');
      // Processes of release 1.0 free the leases of polled notifications after 17 s, once no other release is running
      // (docs/upgrade.md).
      const isRolledBack = program === earlier && replaced === PROCESSES - 1;
      if (!isRolledBack) await pause(ROLLED_MS);
    }
    if (roll === 1) {
      load.durations = quiet;
      await pause(QUIET_MS);
    }
    process.stdout.write(`roll ${roll}/${rolls}: ${load.acknowledged.size} bookings, ${polled.accepted.size} polled\n`);
  }
  await load.stop();
  // Only a process of the later release can answer polls and send mails.
  services.unshift(await start(later));
  await features!.settle();
  await settle(database.url);
  await features!.stop();
  const isMigrated = (await migrations()) > migrated;
  const verdicts = [pushed, polled].map((ledger) => judge(database.url, account, load, ledger));
  const [verdict, ofPolls] = await Promise.all(verdicts);
  const { mails, wrongMails } = await features!.mailsOf();
  const ratio = p99(during) / p99(quiet);
  process.stdout.write(
    [
      '',
      `rolls                   ${rolls} of ${PROCESSES} processes; the database is ${isMigrated ? '' : 'NOT '}migrated`,
      `calls                   ${load.calls}, of them refused with 503 and Retry-After: ${load.failures - load.faults.length}`,
      `faults                  ${load.faults.length}${load.faults.length > 0 ? `; ${load.faults[0]}` : ''}`,
      `events committed        ${verdict.committed}`,
      `accepted, polled        ${pushed.accepted.size}, ${polled.accepted.size}`,
      `lost                    ${verdict.lost}, ${ofPolls.lost}`,
      `phantom                 ${verdict.phantom}, ${ofPolls.phantom}`,
      `gaps                    ${verdict.gaps}, ${ofPolls.gaps}`,
      `in flight twice         ${pushed.inFlightTwice}, ${polled.inFlightTwice}`,
      `overtaken               ${pushed.overtaken}, ${polled.overtaken}`,
      `duplicates              ${verdict.duplicates}, ${ofPolls.duplicates}`,
      `faults of polls         ${features!.faults.length}${features!.faults.length > 0 ? `; ${features!.faults[0]}` : ''}`,
      `mails                   ${mails}, of them lost or sent twice: ${wrongMails}`,
      `p99                     ${p99(quiet).toFixed(0)} ms when quiet, ${p99(during).toFixed(0)} ms during the rolls: ${ratio.toFixed(2)} times`,
      `  while a process starts  ${p99(whileStarting).toFixed(0)} ms`,
      '',
    ].join('\n'),
  );
  const wrong = [verdict, ofPolls].flatMap(({ lost, phantom, gaps, duplicates }) => [lost, phantom, gaps, duplicates]);
  const disorder = [pushed, polled].flatMap(({ inFlightTwice, overtaken }) => [inFlightTwice, overtaken]);
  return (
    [...wrong, ...disorder, load.faults.length, features!.faults.length, wrongMails].every((count) => count === 0) &&
    isMigrated &&
    polled.accepted.size > 0 &&
    mails > 0 &&
    ratio <= MOST_RATIO
  );
}

runCommand(() => withStops(run));
