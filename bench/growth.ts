import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { sealCursor, useCursorKeys } from '../src/platform/http/cursor.js';
import { leaseToken } from '../src/notifications/delivery/delivery-lease.js';
import { CLAIM } from '../src/notifications/delivery/delivery-statements.js';
import { Caller, inTurn, type Call } from './calls.js';
import { median, quantile, round, type Section } from './figures.js';
import { BOOKING_BODY, createBody } from './scene.js';
import { CLAIMED_PARTNER, seedEligibilities, seedHistory, withoutIndexes } from './seed.js';
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
}

const SMALL: DataSize = { eligibilities: 10_000, notifications: 10_000, queued: 2_000 };
const AT_ONCE = 4;
const SECRET = randomBytes(32);
useCursorKeys([SECRET]);
const CLAIMED_AT_ONCE = 32;
const PAGE = 50;
/** Each call, and how much longer it may take on much data. */
const GOALS = {
  create: 1.15,
  read: 1.15,
  book: 1.15,
  'list page': 1.15,
  'page of what has changed since': 1.15,
  'error-queue page': 1.15,
  'summary of the error queue': 1.15,
  claim: 1.15,
  'search of a candidate by id': 1.5,
  'search of candidates by name': 1.5,
};
const NAMES = Object.keys(GOALS) as (keyof typeof GOALS)[];

/** The calls that are measured on a database of a size. */
type Calls = Record<keyof typeof GOALS, Call>;

/** The same calls on little and on much data, by two services that run side by side. */
export async function measureGrowth(stage: Stage, sizes: Sizes): Promise<Section> {
  const [small, large] = await Promise.all([
    open(stage, 'growth_small', SMALL),
    open(stage, 'growth_large', sizes.large),
  ]);
  const p50 = new Map<string, { small: number; large: number }[]>(NAMES.map((name) => [name, []]));
  // Round 0 warms the programs and the caches up and does not count.
  for (let number = 0; number <= sizes.rounds; number++)
    for (const name of NAMES) {
      const from = number * sizes.calls;
      const [little, much] = await inTurn(sizes.calls, name === 'claim' ? 1 : AT_ONCE, [
        (call) => small[name](from + call),
        (call) => large[name](from + call),
      ]);
      if (number > 0) p50.get(name)!.push({ small: quantile(little, 0.5), large: quantile(much, 0.5) });
    }
  return sectionOf(p50, sizes);
}

async function open(stage: Stage, database: string, size: DataSize): Promise<Calls> {
  const databaseUrl = await stage.createDatabase(database);
  // Nothing is to be delivered: the claim is measured by itself.
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
  });
  await stage.settle(database);
  const client = new Caller(service.url, await service.clientToken(), AT_ONCE);
  const operator = new Caller(service.url, await service.operatorToken(), AT_ONCE);
  const direct = new pg.Client({ connectionString: databaseUrl });
  await direct.connect();
  stage.onClear(async () => void (await Promise.all([client.close(), operator.close(), direct.end()])));
  const account = `/accounts/${scene.accountCode}`;
  // Neighbouring calls reach rows far apart.
  const scattered = (number: number) => ((number * 7919) % size.eligibilities) + 1;
  const begun = new Date().toISOString().slice(0, 19) + 'Z';
  const search = (q: string) =>
    operator.call('GET', `/admin/candidates?account_code=${scene.accountCode}&q=${q}&limit=${PAGE}`);
  return {
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
    'page of what has changed since': () =>
      client.call('GET', `${account}/eligibilities?limit=${PAGE}&updated_since=${begun}`),
    'summary of the error queue': () => operator.call('GET', '/admin/error-queue/summary'),
    'error-queue page': (number) =>
      operator.call('GET', `/admin/error-queue?limit=${PAGE}&cursor=${cursor((number * 7919) % size.notifications)}`),
    claim: () => claim(direct),
    'search of a candidate by id': (number) => search(`seeded-${scattered(number)}`),
    'search of candidates by name': () => search('LOVE'),
  };
}

/** Where a page starts, as the services write it, whose key is known here. */
function cursor(position: number): string {
  return sealCursor(String(position));
}

/** The delivery loop's own statement, undone each time, so that it always meets the same backlog. */
async function claim(client: pg.Client): Promise<void> {
  await client.query('BEGIN');
  const values = [[CLAIMED_PARTNER], [CLAIMED_AT_ONCE], 10_000, leaseToken()];
  const { rowCount } = await client.query({ ...CLAIM, values });
  await client.query('ROLLBACK');
  if (rowCount !== CLAIMED_AT_ONCE) throw new Error(`${rowCount} notifications were claimed.`);
}

function sectionOf(p50: Map<string, { small: number; large: number }[]>, { rounds, calls, large }: Sizes): Section {
  const ratio = (name: string) => median(p50.get(name)!.map((measured) => measured.large / measured.small));
  const thousands = (count: number) => `${count / 1000} thousand`;
  return {
    title: 'Growth',
    method:
      `The p50 of the same calls on ${thousands(SMALL.eligibilities)} eligibilities, ${thousands(SMALL.notifications)} ` +
      `notifications and ${thousands(SMALL.queued)} queued errors, and on ${thousands(large.eligibilities)}, ` +
      `${thousands(large.notifications)} and ${thousands(large.queued)}; two services side by side, ${AT_ONCE} calls at once, ` +
      `${rounds} rounds of ${calls} calls to each in turn, medians. Pages of ${PAGE} begin anywhere; a claim takes ` +
      `${CLAIMED_AT_ONCE} of a partner’s 1 thousand waiting notifications.`,
    table: [
      ['p50, ms', 'little data', 'much data', 'ratio'],
      ...NAMES.map((name) => [
        name,
        round(median(p50.get(name)!.map((measured) => measured.small))),
        round(median(p50.get(name)!.map((measured) => measured.large))),
        round(ratio(name)),
      ]),
    ],
    figures: NAMES.map((name) => ({
      name: `${name}: p50 on much data to that on little`,
      value: ratio(name),
      unit: 'ratio',
      goal: { atMost: GOALS[name] },
    })),
  };
}
