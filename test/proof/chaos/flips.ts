/**
 * Tests that a subscription can be changed between PUSH and POLL at any time.
 *
 * Two processes of the service share one PostgreSQL. Bookings are created, moved and cancelled continuously, and files
 * with new eligibility records are imported. The partner gets all of these events: it accepts requests and polls both
 * processes at the same time. The program changes the subscription repeatedly between PUSH and POLL. Before each
 * change, it waits until the partner has received a notification in the current mode. In the end, the program reports
 * these faults:
 *
 * - lost, phantom, gaps, overtaken, in flight twice, unexplained: as in the chaos program (chaos.ts);
 * - duplicates: events that the partner has accepted or acknowledged more than once;
 * - faults: requests that failed, imports that refused a row, and acknowledgements that were ignored.
 *
 * usage: npm run flips [-- --flips N]   (default 1000; the exit code is 1 when the program finds a fault, or when there
 * were fewer than 200 events per second)
 */
import 'reflect-metadata';
import { randomBytes, randomInt } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { runCommand } from '../../../bench/command.js';
import { callJson } from '../../../bench/calls.js';
import { prepare, preparePartner } from '../../../bench/prepare.js';
import { ServiceProcess } from '../../../bench/service-process.js';
import { migrate } from '../../../src/platform/database/migrate.js';
import { startPartner } from '../../support/partner.js';
import { startOwnDatabase } from '../own-database.js';
import { withStops, type Stop } from '../stops.js';
import { BookingLoad, subscribe } from './booking-load.js';
import { findingsOf, judge, settle } from './chaos-judge.js';
import { Ledger } from './chaos-ledger.js';
import { ImportLoad } from './import-load.js';
import { PollingPartner } from './polling-partner.js';

const WORKERS = 32;
const MOST_MOVES = 20;
const POLLS = 2;
const FEWEST_PER_SECOND = 200;
const REPORTED = 100;
/** The time limit, in milliseconds, for the first notification after a change between PUSH and POLL. */
const PATIENCE_MS = 10_000;

async function run(stops: Stop[]): Promise<boolean> {
  const { values } = parseArgs({ options: { flips: { type: 'string', default: '1000' } } });
  const flips = Number(values.flips);
  const database = await startOwnDatabase('flips', stops);
  const { folder } = database;
  await migrate(database.url);
  const { account, token } = await prepare(database.url);
  const env = {
    DATABASE_URL: database.url,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    RATE_LIMIT_PER_MINUTE: '0',
  };
  const services = [1, 2].map((number) => new ServiceProcess(join(folder, `service-${number}`), env));
  for (const service of services) stops.push(() => service.kill('SIGTERM'));
  await Promise.all(services.map((service) => service.start()));
  const baseUrl = () => services[randomInt(services.length)].baseUrl;
  const partner = await startPartner();
  stops.push(() => partner.stop());
  const id = await subscribe(baseUrl(), account, token, partner, ['CREATED']);
  const ledger = new Ledger();
  ledger.listenTo(partner);
  const partnerToken = await preparePartner(database.url, id);
  const polling = new PollingPartner({ baseUrl, token: partnerToken, ledger, calls: POLLS });
  const load = new BookingLoad({ baseUrl, account, token, workers: WORKERS, mostMoves: MOST_MOVES });
  const imports = new ImportLoad({ baseUrl, account, token });
  const change = (delivery: string) =>
    callJson(baseUrl(), token, 'PATCH', `/admin/subscriptions/${id}`, { delivery }) as Promise<unknown>;
  /** Returns the number of notifications that the partner has received in the given mode, PUSH or POLL. */
  const got = (delivery: string) => (delivery === 'POLL' ? polling.polled : ledger.pushed);

  const begun = performance.now();
  for (let flip = 1; flip <= flips; flip++) {
    const delivery = flip % 2 === 1 ? 'POLL' : 'PUSH';
    await change(delivery);
    const before = got(delivery);
    for (const until = Date.now() + PATIENCE_MS; got(delivery) === before; await pause(1))
      if (Date.now() > until) throw new Error(`The partner gets nothing by ${delivery} after change ${flip}.`);
    await pause(randomInt(200));
    if (flip % REPORTED === 0) process.stdout.write(`${flip} of ${flips} changes\n`);
  }
  const seconds = (performance.now() - begun) / 1000;
  const rate = ledger.accepted.size / seconds;
  await Promise.all([load.stop(), imports.stop()]);
  await change('PUSH');
  await settle(database.url);
  await polling.stop();
  const bookings = ledger.unexplained();
  const verdict = await judge(database.url, account, load, ledger);
  const faults = [...load.faults, ...imports.faults, ...polling.faults];
  process.stdout.write(
    [
      '',
      `changes                 ${flips} in ${seconds.toFixed(0)} s; ${rate.toFixed(0)} events a second`,
      `events committed        ${verdict.committed}`,
      `events accepted         ${ledger.accepted.size}: ${ledger.pushed} by PUSH, ${polling.polled} by POLL`,
      ...findingsOf(verdict, ledger, bookings),
      `duplicates              ${verdict.duplicates}`,
      `faults                  ${faults.slice(0, 3).join('; ') || 0}`,
      '',
    ].join('\n'),
  );
  const wrong = [verdict.lost, verdict.phantom, verdict.gaps, verdict.duplicates, bookings.count];
  const disorder = [ledger.inFlightTwice, ledger.overtaken, faults.length];
  return [...wrong, ...disorder].every((count) => count === 0) && rate >= FEWEST_PER_SECOND;
}

runCommand(() => withStops(run));
