import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Caller } from '../../src/platform/context/caller';
import { inTheNameOf } from '../../src/platform/context/request-context';
import { isNoConnectionFree, shareFairly } from '../../src/platform/database/fair-connections';
import { UnitOfWork } from '../../src/platform/unit-of-work/unit-of-work';
import { startApp, type TestApp } from '../support/app';
import { callerOf } from '../support/callers';

/**
 * Tests that callers share the database connections fairly: a flood of work from one caller does not block the others.
 */
let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const SHORT_WORK = { text: 'SELECT pg_sleep(0.01)' };
const FLOOD = 300;

/**
 * Runs the work many times for one caller (the flood), and then once for another caller, or as background work of the
 * service if `other` is null. Returns how many runs of the flood end before the single run.
 */
async function doneBefore(work: () => Promise<unknown>, other: Caller | null): Promise<number> {
  let done = 0;
  const flood = Array.from({ length: FLOOD }, () =>
    inTheNameOf(callerOf('hostile'), null, work).then(
      () => void done++,
      // On a slow machine, the last requests of the flood wait too long, and the service refuses them.
      (error: unknown) => expect(isNoConnectionFree(error)).toBe(true),
    ),
  );
  await (other ? inTheNameOf(other, null, work) : work());
  const before = done;
  await Promise.all(flood);
  return before;
}

/**
 * The kinds of work. Each has a limit for the number of runs of the flood that may end before the single run. Some runs
 * of the flood may end first, because they had already begun.
 */
const kinds: [string, () => Promise<unknown>, number][] = [
  ['statements', () => app.database.query(SHORT_WORK), FLOOD / 10],
  ['units of work', () => app.app.get(UnitOfWork).run(() => app.database.query(SHORT_WORK)), FLOOD / 10],
  [
    'units of work that share a transaction',
    () => app.app.get(UnitOfWork).runWithOthers(randomUUID(), () => app.database.query(SHORT_WORK)),
    // Up to three shared transactions run at a time, with up to fifty units of work each.
    (2 * FLOOD) / 3,
  ],
];

describe.each(kinds)('%s', (_kind, work, most) => {
  it.each([
    ['another caller', callerOf('other')],
    ['background work', null],
  ])('%s gets a database connection before most requests of a caller who floods the service', async (_who, other) => {
    expect(await doneBefore(work, other)).toBeLessThan(most);
  });
});

it("updates a record of one tenant while most of another tenant's flood of updates still waits", async () => {
  const changeOf = async () => {
    const scene = await app.given.scene();
    const body = app.given.eligibilityBody(scene.testCode);
    await app.call('POST', `/accounts/${scene.account}/candidates`, { token: scene.token, body });
    const path = `/accounts/${scene.account}/candidates/${body['candidate'].candidate_id}/tests/${scene.testCode}`;
    return () => app.call('PUT', path, { token: scene.token, body });
  };
  const [hostile, other] = [await changeOf(), await changeOf()];
  const statuses: number[] = [];
  const flood = Array.from({ length: FLOOD }, () => hostile().then(({ status }) => void statuses.push(status)));
  expect((await other()).status).toBe(204);
  expect(statuses.length).toBeLessThan(FLOOD / 2);
  await Promise.all(flood);
  // On a slow machine, the last requests of the flood wait too long, and the service refuses them.
  expect(statuses.filter((status) => status !== 204 && status !== 503)).toEqual([]);
});

it('retries a database connection if the process was too busy to notice in time that it was established', async () => {
  const pool = new pg.Pool({ connectionString: app.databaseUrl, connectionTimeoutMillis: 1_000, max: 1 });
  shareFairly(pool);
  const connected = pool.connect();
  for (const end = performance.now() + 1_500; performance.now() < end;);
  (await connected).release();
  await pool.end();
});
