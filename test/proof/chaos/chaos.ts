/**
 * Tests that crashes lose no event and invent no event.
 *
 * Three processes of the service (two `api,delivery`, one `delivery`) share one PostgreSQL. Records are created and
 * changed, and bookings are created, moved and cancelled continuously. Meanwhile, the partner alternates between 200
 * and 500. In each round one process, or PostgreSQL, is killed with SIGKILL at a random moment and restarted. At the
 * end, no work may be left. The program reports these faults:
 *
 * - lost: a change that was acknowledged or stored, but whose event the partner never accepted;
 * - phantom: an event that the partner received about a change that is not in the database;
 * - gap: an event number of a booking or record that is missing between two existing numbers;
 * - overtaken: an event of a booking that arrived before an earlier event was accepted, or while another was in flight;
 * - unexplained: a booking with deliveries that the model of the protocol (../model/) cannot explain;
 * - in flight twice: an event with two attempts at the partner at the same moment;
 * - duplicate: an event that the partner accepted more than once. A duplicate is allowed only if a process was killed
 *   between the two deliveries.
 *
 * Because the partner alternates between failure and success, it sometimes seems to refuse only one event. The service
 * leaves such an event to an operator (ONLY_THIS_EVENT) and sends the booking's later events. The program resends such
 * events at the end.
 *
 * usage: npm run chaos [-- --rounds N]   (default 50; the exit code is 1 when the program finds anything except a
 * duplicate after a kill)
 */
import 'reflect-metadata';
import { randomBytes, randomInt } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { migrate } from '../../../src/platform/database/migrate.js';
import { RECORD_CHANGES } from '../../../src/platform/changes/change.entity.js';
import { startPartner } from '../../support/partner.js';
import { BookingLoad, subscribe } from './booking-load.js';
import { callJson } from '../../../bench/calls.js';
import { runCommand } from '../../../bench/command.js';
import { findingsOf, judge, leftToOperator, settle } from './chaos-judge.js';
import { Ledger } from './chaos-ledger.js';
import { prepare, query } from '../../../bench/prepare.js';
import { ServiceProcess } from '../../../bench/service-process.js';
import { postmasterIn } from '../../support/postmaster.js';
import { startOwnDatabase } from '../own-database.js';
import { withStops, type Stop } from '../stops.js';

const ROUND_MS = 2_500;

function killPostgres(dataDir: string): void {
  process.kill(postmasterIn(join(dataDir, 'postgres')), 'SIGKILL');
}

/**
 * Runs the test, and returns whether all checks passed. For each process that it starts, adds a function to `stops`
 * that stops the process.
 */
async function run(stops: Stop[]): Promise<boolean> {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '50' } }, strict: false });
  const rounds = Number(values.rounds);
  const database = await startOwnDatabase('chaos', stops);
  const { folder, dataDir } = database;
  await migrate(database.url);
  const { account, token } = await prepare(database.url);
  const secretsKey = randomBytes(32).toString('base64');
  const services = ['api,delivery', 'api,delivery', 'delivery'].map(
    (roles, index) =>
      new ServiceProcess(join(folder, `service-${index}`), {
        DATABASE_URL: database.url,
        SECRETS_KEY: secretsKey,
        ROLES: roles,
        HOST: '127.0.0.1',
        PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
        RATE_LIMIT_PER_MINUTE: '0',
        RETRY_SCHEDULE_S: '0.2,0.5,1',
      }),
  );
  for (const service of services) stops.push(() => service.kill('SIGTERM'));
  await Promise.all(services.map((service) => service.start()));
  const partner = await startPartner();
  stops.push(() => partner.stop());
  await subscribe(services[0].baseUrl, account, token, partner, RECORD_CHANGES);
  const ledger = new Ledger();
  ledger.listenTo(partner);
  const baseUrl = () => services[randomInt(2)].baseUrl;
  const load = new BookingLoad({ baseUrl, account, token, changesRecords: true });
  let postgresKills = 0;

  for (let round = 1; round <= rounds; round++) {
    await pause(randomInt(ROUND_MS / 2));
    ledger.down = true;
    await pause(randomInt(ROUND_MS / 4));
    ledger.down = round % 2 === 0;
    ledger.killed();
    if (round % 3 === 0) {
      postgresKills += 1;
      killPostgres(dataDir);
      await query(database.url, 'SELECT 1');
    } else {
      await services[round % 2 === 0 ? 2 : randomInt(3)].kill('SIGKILL');
    }
    await Promise.all(services.filter((service) => !service.isRunning).map((service) => service.start()));
    ledger.down = false;
    process.stdout.write(
      `round ${round}/${rounds}: ${load.acknowledged.size} bookings and records, ${ledger.accepted.size} events accepted\n`,
    );
  }
  await load.stop();
  await settle(database.url);
  const left = await leftToOperator(database.url);
  ledger.left = new Set(left.map(({ booking }) => booking));
  const bookings = ledger.unexplained();
  // Resends the events that the service left to an operator. The later events of their bookings have already arrived.
  for (const { id } of left) await callJson(baseUrl(), token, 'POST', `/admin/error-queue/${id}/resend`);
  await settle(database.url);
  const verdict = await judge(database.url, account, load, ledger);
  process.stdout.write(
    [
      '',
      `rounds                  ${rounds} (${rounds - postgresKills} kills of the service, ${postgresKills} of PostgreSQL)`,
      `calls                   ${load.calls}, ${load.failures} failed in a crash`,
      `events committed        ${verdict.committed}`,
      `events accepted         ${ledger.accepted.size}; refused with 500: ${ledger.refused}`,
      `left to an operator     ${left.length}, who sent them again`,
      ...findingsOf(verdict, ledger, bookings),
      `duplicates              ${verdict.duplicates}, of them without a kill in between: ${verdict.unexplained}`,
      '',
    ].join('\n'),
  );
  const wrong = [ledger.inFlightTwice, ledger.overtaken, bookings.count, verdict.unexplained];
  const bad = wrong.reduce((sum, count) => sum + count, verdict.lost + verdict.phantom + verdict.gaps);
  return bad === 0 && ledger.accepted.size > 0;
}

runCommand(() => withStops(run));
