import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { sealCursor, useCursorKeys } from '../src/platform/http/cursor.js';
import { leaseToken } from '../src/notifications/delivery/delivery-lease.js';
import { CLAIM } from '../src/notifications/delivery/delivery-statements.js';
import { EVENT_NAMES, TRANSLATE } from '../src/notifications/delivery/translation-statement.js';
import { Caller, inTurn, type Call } from './calls.js';
import { processorSeconds, withProcessorTime } from './processor-time.js';
import { median, ofRounds, quantile, round, type Section } from './figures.js';
import { BOOKING_BODY, createBody } from './scene.js';
import { CLAIMED_PARTNER, seedEligibilities, seedEvents, seedHistory, streamOf, withoutIndexes } from './seed.js';
import { BenchedService } from './service.js';
import type { Stage } from './stage.js';

interface DataSize {
  eligibilities: number;
  notifications: number;
  queued: number;
}

interface Sizes {
  rounds: number;
  calls: number;
  large: DataSize;
  /** Whether PostgreSQL reads all data into its memory before the calls begin. */
  warm?: boolean;
}

const SMALL: DataSize = { eligibilities: 10_000, notifications: 10_000, queued: 2_000 };
const AT_ONCE = 4;
const SECRET = randomBytes(32);
useCursorKeys([SECRET]);
const CLAIMED_AT_ONCE = 32;
const TRANSLATED_AT_ONCE = 4;
/** The longest time, in milliseconds, that a service needs to notice that its connections were closed. */
const NOTICED_MS = 20;
const NEW_CONNECTIONS = 'first list page over new connections';
/** The maximum number of calls over new connections. It is small because opening connections is slow. */
const MOST_OVER_NEW_CONNECTIONS = 100;
const NAMES = [
  'create',
  'read',
  'book',
  'list page',
  NEW_CONNECTIONS,
  'page of records changed since a time',
  'error-queue page',
  'summary of the error queue',
  'claim',
  'translation',
  'search of a candidate by id',
  'search of candidates by name',
  'search of candidates by parts of two names',
] as const;
/** The names of the calls in the table of docs/performance.md. */
const QUESTIONS: Partial<Record<(typeof NAMES)[number], string>> = {
  create: 'create an eligibility record',
  read: 'read an eligibility record',
  book: 'book an exam',
  'list page': 'read a page of a list',
  'page of records changed since a time': 'read a page of the records that changed after a given time',
  'error-queue page': 'read a page of the error queue',
  'summary of the error queue': 'read the summary of the error queue',
  'search of a candidate by id': 'search for a candidate by id',
  'search of candidates by name': 'search for candidates by name',
  'search of candidates by parts of two names': 'search for candidates by parts of two names',
};
/** The maximum factor by which a call may be slower with much data. */
const MOST_GROWTH = 1.1;
/** The maximum p95 of a search with much data, in milliseconds. */
const MOST_SEARCH_MS = 50;
/** The statements that are measured over a database connection of this program, without a service. */
const DIRECT: readonly string[] = ['claim', 'translation'];
const ONE_AT_ONCE = [...DIRECT, NEW_CONNECTIONS];
const BACKENDS = 'SELECT pid FROM pg_stat_activity WHERE datname = current_database()';
const PAGE = 50;
const CLOSE_ALL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'candidate-eligibility-service'`;

/** The measured calls on a database of one size, and the processes that serve these calls. */
interface Side {
  calls: Record<(typeof NAMES)[number], Call>;
  service: number;
  /** Returns PostgreSQL's processes for the database, each with its processor time in seconds. */
  postgres: () => Promise<Map<number, number>>;
}

/**
 * The cost of a call: the median and the 95th percentile of the duration in milliseconds, and the processor time of the
 * service and of PostgreSQL in µs.
 */
interface Cost {
  p50: number;
  p95: number;
  service: number;
  postgres: number;
}

/** Measures the same calls on a small and on a large database, on two services that run in parallel. */
export async function measureGrowth(stage: Stage, sizes: Sizes): Promise<Section> {
  const [small, large] = await Promise.all([
    open(stage, 'growth_small', SMALL),
    open(stage, 'growth_large', sizes.large),
  ]);
  if (sizes.warm) for (const database of ['growth_small', 'growth_large']) await stage.warm(database);
  const costs: Costs = new Map(NAMES.map((name) => [name, []]));
  // Round 0 warms up the programs and the caches, and is not counted.
  for (let number = 0; number <= sizes.rounds; number++) {
    for (const name of NAMES) {
      const from = number * sizes.calls;
      const both = [small.calls[name], large.calls[name]].map((call) => shifted(call, from)) as [Call, Call];
      const calls = name === NEW_CONNECTIONS ? Math.min(sizes.calls, MOST_OVER_NEW_CONNECTIONS) : sizes.calls;
      const before = [await small.postgres(), await large.postgres()];
      const pids = { small: [small.service], large: [large.service] };
      const [[little, much], used] = await withProcessorTime(pids, () =>
        inTurn(calls, ONE_AT_ONCE.includes(name) ? 1 : AT_ONCE, both),
      );
      const [smallPostgres, largePostgres] = [
        since(before[0], await small.postgres()),
        since(before[1], await large.postgres()),
      ];
      const each = (seconds: number) => (seconds / calls) * 1e6;
      if (number > 0)
        costs.get(name)!.push({
          small: { ...durationsOf(little), service: each(used.small), postgres: each(smallPostgres) },
          large: { ...durationsOf(much), service: each(used.large), postgres: each(largePostgres) },
        });
    }
  }
  return sectionOf(costs, sizes);
}

function durationsOf(milliseconds: Float64Array): Pick<Cost, 'p50' | 'p95'> {
  return { p50: quantile(milliseconds, 0.5), p95: quantile(milliseconds, 0.95) };
}

/** Returns the total processor time that the processes in `after` have used since the earlier reading `before`. */
function since(before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number {
  return [...after].reduce((sum, [pid, seconds]) => sum + seconds - (before.get(pid) ?? 0), 0);
}

function shifted(call: Call, from: number): Call {
  return Object.assign((number: number) => call(from + number), { before: call.before });
}

async function open(stage: Stage, database: string, size: DataSize): Promise<Side> {
  const databaseUrl = await stage.createDatabase(database);
  // This service does not deliver notifications, because the claiming of notifications is measured separately.
  const service = await BenchedService.start(join(stage.folder, database), databaseUrl, {
    ROLES: 'api',
    SECRETS_KEY: SECRET.toString('base64'),
  });
  stage.onClear(() => service.stop());
  const { scene } = service;
  await stage.withDatabase(database, async (client) => {
    await withoutIndexes(client, ['notifications', 'notification_attempts', 'eligibilities'], async () => {
      await seedHistory(client, scene.accountCode, size.notifications, size.queued);
      await seedEligibilities(client, scene, size.eligibilities);
    });
    await seedEvents(client, scene.accountCode, TRANSLATED_AT_ONCE);
  });
  await stage.settle(database);
  const client = new Caller(service.url, await service.clientToken(), AT_ONCE);
  const operator = new Caller(service.url, await service.operatorToken(), AT_ONCE);
  const direct = new pg.Client({ connectionString: databaseUrl });
  await direct.connect();
  stage.onClear(async () => void (await Promise.all([client.close(), operator.close(), direct.end()])));
  const account = `/accounts/${scene.accountCode}`;
  // Successive calls use rows that are far apart, so that the calls read different pages of the table.
  const scattered = (number: number) => ((number * 7919) % size.eligibilities) + 1;
  const begun = new Date().toISOString().slice(0, 19) + 'Z';
  const search = (q: string) =>
    operator.call('GET', `/admin/candidates?account_code=${scene.accountCode}&q=${q}&limit=${PAGE}`);
  const firstPage = `${account}/eligibilities?limit=${PAGE}`;
  const calls: Side['calls'] = {
    create: (number) => client.call('POST', `${account}/candidates`, createBody(scene, `created-${number}`)),
    read: (number) => client.call('GET', `${account}/candidates/seeded-${scattered(number)}/tests/${scene.testCode}`),
    'list page': (number) =>
      client.call('GET', `${account}/eligibilities?limit=${PAGE}&cursor=${cursor(scattered(number) + PAGE)}`),
    book: (number) =>
      client.call(
        'POST',
        `${account}/candidates/seeded-${scattered(number)}/tests/${scene.testCode}/bookings`,
        BOOKING_BODY,
      ),
    'page of records changed since a time': () =>
      client.call('GET', `${account}/eligibilities?limit=${PAGE}&updated_since=${begun}`),
    'summary of the error queue': () => operator.call('GET', '/admin/error-queue/summary'),
    'error-queue page': (number) =>
      operator.call('GET', `/admin/error-queue?limit=${PAGE}&cursor=${cursor((number * 7919) % size.notifications)}`),
    [NEW_CONNECTIONS]: Object.assign(() => client.call('GET', firstPage), {
      before: async () => {
        await direct.query(CLOSE_ALL);
        await sleep(NOTICED_MS);
      },
    }),
    claim: () => claim(direct),
    // Before each call, the events get new ids. With the same ids, all calls would use the same database pages.
    translation: Object.assign(() => translate(direct), {
      before: async () =>
        void (await direct.query('UPDATE domain_events SET event_id = uuidv7() WHERE settled_at IS NULL')),
    }),
    'search of a candidate by id': (number) => search(`seeded-${scattered(number)}`),
    'search of candidates by name': () => search('LOVE'),
    'search of candidates by parts of two names': () => search('velace%20yron'),
  };
  const postgres = async () => {
    const { rows } = await direct.query<{ pid: number }>(BACKENDS);
    return new Map(rows.map(({ pid }) => [pid, processorSeconds(pid)]));
  };
  return { calls, service: service.pid, postgres };
}

/**
 * Returns the cursor that the services would return for a page. This program has the key with which they encrypt
 * cursors.
 */
function cursor(position: number): string {
  return sealCursor(String(position));
}

/**
 * Claims notifications with the statement of the delivery loop. Rolls the claim back, so that the backlog stays the
 * same.
 */
async function claim(client: pg.Client): Promise<void> {
  await client.query('BEGIN');
  const values = [[CLAIMED_PARTNER], [CLAIMED_AT_ONCE], 10_000, leaseToken(), Infinity, 0];
  const { rowCount } = await client.query({ ...CLAIM, values });
  await client.query('ROLLBACK');
  if (rowCount !== CLAIMED_AT_ONCE) throw new Error(`${rowCount} notifications were claimed.`);
}

/** Translates the waiting events into notifications, and rolls the transaction back. */
async function translate(client: pg.Client): Promise<void> {
  await client.query('BEGIN');
  const streams = Array.from({ length: TRANSLATED_AT_ONCE }, (_, at) => streamOf(at));
  const { rows } = await client.query<{ events_done: number }>({
    ...TRANSLATE,
    values: [streams, streams.map(() => 1), EVENT_NAMES, [], 10_000, leaseToken(), [], []],
  });
  await client.query('ROLLBACK');
  if (Number(rows[0].events_done) !== TRANSLATED_AT_ONCE)
    throw new Error(`${rows[0].events_done} events were translated.`);
}

function growthOf(name: string): string {
  return `${name}: p50 on much data to that on little`;
}

type Costs = Map<string, { small: Cost; large: Cost }[]>;

function sectionOf(costs: Costs, { rounds, calls, large }: Sizes): Section {
  const each = (name: string, side: 'small' | 'large', what: keyof Cost) =>
    costs.get(name)!.map((measured) => measured[side][what]);
  const of = (...which: Parameters<typeof each>) => median(each(...which));
  const ratio = (name: string, what: keyof Cost) =>
    median(costs.get(name)!.map((measured) => measured.large[what] / measured.small[what]));
  // The processor time of calls over new connections is not reported. It is counted for the process of each connection,
  // so the time of closed connections would be missing.
  const isAccounted = (name: string) => name !== NEW_CONNECTIONS;
  const thousands = (count: number) =>
    count < 1_000_000 ? `${count / 1000} thousand` : `${count / 1_000_000} million`;
  return {
    title: 'Growth',
    method:
      `The p50, and on much data the p95, of the same calls on ${thousands(SMALL.eligibilities)} eligibilities, ${thousands(SMALL.notifications)} ` +
      `notifications and ${thousands(SMALL.queued)} queued errors, and on ${thousands(large.eligibilities)}, ` +
      `${thousands(large.notifications)} and ${thousands(large.queued)}; two services side by side, ${AT_ONCE} calls at once, ` +
      `${rounds} rounds of ${calls} calls to each in turn, medians. Pages of ${PAGE} begin anywhere; a claim takes ` +
      `${CLAIMED_AT_ONCE} of a partner’s 1 thousand waiting notifications, a translation makes the notifications of ` +
      `${TRANSLATED_AT_ONCE} events for twenty partners. The processor time of PostgreSQL is that of a call, and knows nothing of waiting for the disk.`,
    table: [
      ['', 'p50 ms, little data', 'much data', 'ratio', 'p95 ms', 'PostgreSQL, µs, little data', 'much data', 'ratio'],
      ...NAMES.map((name) => [
        name,
        round(of(name, 'small', 'p50')),
        round(of(name, 'large', 'p50')),
        round(ratio(name, 'p50')),
        round(of(name, 'large', 'p95')),
        ...(isAccounted(name)
          ? [round(of(name, 'small', 'postgres')), round(of(name, 'large', 'postgres')), round(ratio(name, 'postgres'))]
          : ['', '', '']),
      ]),
    ],
    figures: [
      ...NAMES.map((name) => ({
        name: growthOf(name),
        value: ratio(name, 'p50'),
        unit: 'ratio' as const,
        goal: { atMost: MOST_GROWTH },
      })),
      ...NAMES.filter((name) => name.startsWith('search')).map((name) => ({
        name: `${name}: p95 on much data`,
        value: of(name, 'large', 'p95'),
        unit: 'ms' as const,
        goal: { atMost: MOST_SEARCH_MS },
      })),
      ...NAMES.filter((name) => !DIRECT.includes(name)).map((name) =>
        ofRounds(`${name}: processor time of the service on little data`, 'µs', each(name, 'small', 'service')),
      ),
    ],
    asked: NAMES.filter((name) => !ONE_AT_ONCE.includes(name)).map((name) => ({
      question: `With ${thousands(large.eligibilities)} records: ${QUESTIONS[name] ?? name}`,
      measured: `p50 ${round(of(name, 'large', 'p50'))} ms, p95 ${round(of(name, 'large', 'p95'))} ms; with ${thousands(SMALL.eligibilities)} records ${round(of(name, 'small', 'p50'))} ms`,
      judged: { [growthOf(name)]: `times as long as with ${thousands(SMALL.eligibilities)} records` },
    })),
  };
}
