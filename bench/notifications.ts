import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { atRate, Caller } from './calls.js';
import { median, medianRatio, ofRounds, quantile, round, type Section } from './figures.js';
import type { PeerOptions } from './peer.js';
import { withProcessorTime } from './processor-time.js';
import { Program } from './program.js';
import type { Expectation, Received, ReceiverReady } from './receiver.js';
import {
  clearEligibilities,
  seedEligibilities,
  seedGraphileJobs,
  seedNotifications,
  seedPartners,
  setActive,
} from './seed.js';
import { BOOKING_BODY, type Scene } from './scene.js';
import { BenchedService } from './service.js';
import type { Stage } from './stage.js';

/** The numbers of partners with which delivery is measured. */
const PARTNERS = [4, 1, 100];
const EVENTS_PER_SECOND = 200;
const PEER = 'graphile-worker';
/** The number of parallel requests by the compared program. It equals the service's own limit. */
const PEER_CONCURRENCY = 48;
/** The number of subscriptions of a second account, which should not slow the measured account. */
const OTHERS = 1_000;
const AMONG_MANY = 'service with 1,000 more subscriptions';
const DELAYED = ['service', AMONG_MANY] as const;
type Delays = Record<(typeof DELAYED)[number], Float64Array[]>;
/** The warm-up time in seconds, during which PostgreSQL plans all statements for the new tables. */
const WARM_UP_S = 3;

interface Sizes {
  rounds: number;
  backlog: number;
  seconds: number;
}

/** One of the compared programs. Each sends a backlog of notifications to the same receiver. */
interface Contender {
  name: string;
  database: string;
  seed(client: Client, count: number): Promise<void>;
  go(go: boolean): Promise<unknown>;
  /** An SQL condition that is true when the program has no work left. */
  isDone: string;
}

export async function measureNotifications(stage: Stage, sizes: Sizes): Promise<Section> {
  const receiver = await Program.start<ReceiverReady>('receiver', {}, stage.log);
  stage.onClear(() => receiver.stop());
  const databaseUrl = await stage.createDatabase('notifications');
  const service = await BenchedService.start(join(stage.folder, 'notifications'), databaseUrl);
  stage.onClear(() => service.stop());
  const operator = await service.operatorToken();
  const first = await service.subscribe(operator, receiver.ready);
  const delays = await measureDelays(stage, service, receiver, sizes);

  const subscriptions = [first];
  while (subscriptions.length < Math.max(...PARTNERS))
    subscriptions.push(await service.subscribe(operator, receiver.ready));
  const contenders: Contender[] = [
    ...PARTNERS.map((count) => ofService(stage, service, subscriptions.slice(0, count))),
    await ofPeer(stage, receiver.ready),
  ];
  await stage.withDatabase('notifications', (client) => setActive(client, []));

  const rates = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  const pids = { service: [service.pid], postgres: [await stage.postmaster()] };
  const microseconds: Record<keyof Pids, number>[] = [];
  // Round 0 warms up the programs and is not counted.
  for (let number = 0; number <= sizes.rounds; number++) {
    // The order of the programs alternates, so that no program always runs directly after the same other program.
    for (const contender of number % 2 === 0 ? contenders : contenders.toReversed()) {
      const count = number === 0 ? 2_000 : sizes.backlog;
      const [rate, used] = await drain(stage, receiver, contender, count, pids);
      if (number === 0) continue;
      rates.get(contender.name)!.push(rate);
      if (contender === contenders[0])
        microseconds.push({ service: (used.service / count) * 1e6, postgres: (used.postgres / count) * 1e6 });
    }
  }
  await stage.withDatabase('notifications', (client) => assertOrder(client, sizes.backlog));
  return sectionOf(rates, microseconds, delays, sizes);
}

/**
 * Returns the service as one of the compared programs. The service starts when its partners are activated, and stops
 * when they are suspended. The delivery loop finds due notifications within a second, and the measured time starts with
 * the first PUT.
 */
function ofService(stage: Stage, service: BenchedService, subscriptions: readonly string[]): Contender {
  return {
    name: nameOf(subscriptions.length),
    database: 'notifications',
    seed: (client, count) => seedNotifications(client, service.scene.accountCode, subscriptions, count),
    go: (go) => stage.withDatabase('notifications', (client) => setActive(client, go ? subscriptions : [])),
    isDone: `SELECT NOT EXISTS (SELECT FROM deliveries) AS done`,
  };
}

function nameOf(partners: number): string {
  return partners === 1 ? 'service, 1 partner' : `service, ${partners} partners`;
}

/** Measures graphile-worker. Its jobs send bare PUTs, without a signature, a log of attempts or a guaranteed order. */
async function ofPeer(stage: Stage, { url, caPem }: ReceiverReady): Promise<Contender> {
  const database = 'peer';
  const databaseUrl = await stage.createDatabase(database);
  const options: PeerOptions = { databaseUrl, receiverUrl: url, caPem, concurrency: PEER_CONCURRENCY };
  const program = await Program.start('peer', options, stage.log);
  stage.onClear(() => program.stop());
  return {
    name: PEER,
    database,
    seed: seedGraphileJobs,
    go: (go) => program.ask({ go }),
    isDone: `SELECT NOT EXISTS (SELECT FROM graphile_worker._private_jobs) AS done`,
  };
}

type Pids = Readonly<Record<'service' | 'postgres', readonly number[]>>;

/**
 * Measures the number of notifications per second, from the first PUT to the partner until the program has no work
 * left. Also measures the processor time, in seconds, that each group of processes in `pids` uses during this time.
 */
async function drain(
  stage: Stage,
  receiver: Program,
  contender: Contender,
  count: number,
  pids: Pids,
): Promise<[number, Record<keyof Pids, number>]> {
  return stage.withDatabase(contender.database, async (client) => {
    await contender.seed(client, count);
    await stage.settle(contender.database);
    const received = await expectRequests(receiver, { expect: count });
    const [rate, used] = await withProcessorTime(pids, async () => {
      await contender.go(true);
      const { firstAt } = await received.all;
      while (!(await client.query<{ done: boolean }>(contender.isDone)).rows[0].done) await sleep(2);
      return count / ((Date.now() - firstAt) / 1000);
    });
    await contender.go(false);
    return [rate, used];
  });
}

async function expectRequests(receiver: Program, expectation: Expectation): Promise<{ all: Promise<Received> }> {
  await receiver.ask(expectation);
  return { all: receiver.heard<Received>() };
}

/**
 * Checks that the service kept its guarantees at the measured speed: each notification was sent once and logged, and a
 * booking's notifications were sent in the order of its events.
 */
async function assertOrder(client: Client, count: number): Promise<void> {
  const { rows } = await client.query<{ delivered: number; attempts: number; overtaken: number }>(
    `SELECT (SELECT count(*)::int FROM notifications WHERE state = 'DELIVERED') AS delivered,
       (SELECT count(*)::int FROM notification_attempts) AS attempts,
       (SELECT count(*)::int FROM notifications n JOIN notifications later
          ON later.booking_code = n.booking_code AND later.subscription_id = n.subscription_id
            AND later.event_sequence > n.event_sequence
        JOIN notification_attempts a ON a.notification_position = n.position
        JOIN notification_attempts b ON b.notification_position = later.position AND b.at < a.at) AS overtaken`,
  );
  const [{ delivered, attempts, overtaken }] = rows;
  if (delivered !== count || attempts !== count || overtaken > 0)
    throw new Error(`${delivered} delivered and ${attempts} attempts of ${count}, ${overtaken} out of order.`);
}

/**
 * Measures the delay of notifications, in alternating rounds with and without many subscriptions in another account.
 */
async function measureDelays(
  stage: Stage,
  service: BenchedService,
  receiver: Program<ReceiverReady>,
  { rounds, seconds }: Sizes,
): Promise<Delays> {
  const { scene } = service;
  const { account_code: elsewhere } = await service.call<{ account_code: string }>(
    await service.operatorToken(),
    'POST',
    '/admin/accounts',
    { name: 'Elsewhere' },
  );
  const bookings = { stage, scene, token: await service.clientToken(), receiver, seconds };
  const contenders = {
    service: () => measureDelay(service.url, bookings),
    [AMONG_MANY]: async () => {
      await stage.withDatabase('notifications', (client) => seedPartners(client, elsewhere, OTHERS));
      const delays = await measureDelay(service.url, bookings);
      await stage.withDatabase('notifications', (client) =>
        client.query('DELETE FROM subscriptions WHERE account_code = $1', [elsewhere]),
      );
      return delays;
    },
  };
  const delays: Delays = { service: [], [AMONG_MANY]: [] };
  // Round 0 warms up the programs and is not counted.
  for (let number = 0; number <= rounds; number++)
    for (const name of number % 2 === 0 ? DELAYED : DELAYED.toReversed()) {
      const measured = await contenders[name]();
      if (number > 0) delays[name].push(measured);
    }
  return delays;
}

interface TimedBookings {
  stage: Stage;
  scene: Scene;
  token: string;
  receiver: Program;
  seconds: number;
}

/**
 * Measures the time from the commit of each booking until the partner has received the whole request. Returns the times
 * in milliseconds, sorted.
 */
async function measureDelay(
  url: string,
  { stage, scene, token, receiver, seconds }: TimedBookings,
): Promise<Float64Array> {
  const count = EVENTS_PER_SECOND * (WARM_UP_S + seconds);
  await stage.withDatabase('notifications', async (client) => {
    await clearEligibilities(client);
    await seedEligibilities(client, scene, count);
  });
  await stage.settle('notifications');
  const received = await expectRequests(receiver, { expect: count, bookings: true });
  const caller = new Caller(url, token, 32);
  await atRate(EVENTS_PER_SECOND, WARM_UP_S + seconds, (number) =>
    caller.call(
      'POST',
      `/accounts/${scene.accountCode}/candidates/seeded-${number + 1}/tests/${scene.testCode}/bookings`,
      BOOKING_BODY,
    ),
  );
  await caller.close();
  const { bookings } = await received.all;
  const committed = await stage.withDatabase('notifications', async (client) => {
    const { rows } = await client.query<{ booking_code: string; at: number }>(
      `SELECT booking_code, (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000)::float8 AS at FROM bookings`,
    );
    return new Map(rows.map((row) => [row.booking_code, row.at]));
  });
  const counted = bookings.slice(EVENTS_PER_SECOND * WARM_UP_S);
  return Float64Array.from(counted, ([code, at]) => at - committed.get(code)!).sort();
}

function sectionOf(
  rates: Map<string, number[]>,
  microseconds: Record<keyof Pids, number>[],
  delays: Delays,
  { rounds, backlog, seconds }: Sizes,
): Section {
  const ours = PARTNERS.map(nameOf);
  const delayOf = (name: keyof Delays, share: number) => median(delays[name].map((round) => quantile(round, share)));
  return {
    title: 'Notifications',
    method:
      `A backlog of ${backlog} drained by HTTPS PUT into one receiver, ${rounds} alternating rounds, medians; from the ` +
      'first PUT until nothing is left in the database. The service signs, logs each attempt and keeps the order of ' +
      `${backlog / 2} bookings, for 1, 4 and 100 partners with the default limits; ${PEER} makes a bare PUT a job, ` +
      `${PEER_CONCURRENCY} at once. The delay: ${EVENTS_PER_SECOND} bookings a second over HTTP, ${rounds} rounds of ${seconds} s, each after ${WARM_UP_S} s that do not count, medians; from ` +
      'the commit (PostgreSQL’s commit timestamp) until the partner has the whole request.',
    table: [
      ['', 'median', 'p95', 'p99'],
      ...[...rates].map(([name, values]) => [`${name}, notifications/s`, round(median(values)), '', '']),
      ...(Object.keys(delays) as (keyof Delays)[]).map((name) => [
        `${name}, commit to partner, ms`,
        ...[0.5, 0.95, 0.99].map((share) => round(delayOf(name, share))),
      ]),
    ],
    figures: [
      ...ours.map((name) => ({
        name: `backlog: rate of the ${name}, to that of ${PEER}`,
        value: medianRatio(rates.get(name)!, rates.get(PEER)!),
        unit: 'ratio' as const,
        goal: null,
      })),
      ...(['service', 'postgres'] as const).map((what) =>
        ofRounds(
          `backlog: processor time of ${what === 'service' ? 'the service' : 'PostgreSQL'} a notification`,
          'µs',
          microseconds.map((used) => used[what]),
        ),
      ),
      { name: 'commit to partner, p50', value: delayOf('service', 0.5), unit: 'ms', goal: { atMost: 5 } },
      { name: 'commit to partner, p95', value: delayOf('service', 0.95), unit: 'ms', goal: { atMost: 20 } },
    ],
    asked: [
      ...ours.map((name) => ({
        question: `Rate at which a backlog of notifications is sent: ${name}`,
        measured: `${round(median(rates.get(name)!))} notifications a second`,
        judged: { [`backlog: rate of the ${name}, to that of ${PEER}`]: `times the rate of ${PEER}` },
      })),
      {
        question: 'Delay between the commit of a booking and the request to the partner',
        measured: `p50 ${round(delayOf('service', 0.5))} ms, p95 ${round(delayOf('service', 0.95))} ms`,
        judged: { 'commit to partner, p50': 'p50', 'commit to partner, p95': 'p95' },
      },
    ],
  };
}
