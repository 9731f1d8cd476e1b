import { QueueUpkeep } from '../src/notifications/delivery/queue-upkeep';
import type { Statement } from '../src/platform/database/database';
import { startApp, type TestApp } from './support/app';
import { queueMany } from './support/queued';
import { Subscribed } from './support/subscribed';

const BATCH = 1000;

let app: TestApp;
let subscribed: Subscribed[];

// Nobody else does the upkeep.
beforeAll(async () => {
  app = await startApp({ env: { ROLES: 'api' } });
});
afterAll(() => app.close());
beforeEach(async () => {
  subscribed = [await Subscribed.start(app), await Subscribed.start(app), await Subscribed.start(app)];
});
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(subscribed.map((one) => one.stop()));
});

/** What the statements of the upkeep are called, and how many rows they changed. */
function watched(): [string, number][] {
  const done: [string, number][] = [];
  const execute = app.database.execute.bind(app.database);
  jest.spyOn(app.database, 'execute').mockImplementation(async (statement: Statement, values?: unknown[]) => {
    const changed = await execute(statement, values);
    done.push([statement.name ?? '', changed]);
    return changed;
  });
  return done;
}

const upkeep = () => app.app.get(QueueUpkeep).run();
const unresolved = async ({ id }: Subscribed) =>
  (await app.given.sql(`SELECT FROM notifications WHERE subscription_id = $1 AND state <> 'RESOLVED'`, [id])).length;

test('what waited for deleted partners is settled in batches, and every kind of upkeep has its turn between two', async () => {
  for (const one of subscribed) await queueMany(one, 1500);
  for (const one of subscribed) await one.admin('DELETE', `subscriptions/${one.id}`);
  const done = watched();
  await upkeep();
  expect(await Promise.all(subscribed.map(unresolved))).toEqual([0, 0, 0]);
  expect(Math.max(...done.map(([, changed]) => changed))).toBe(BATCH);
  const kinds = ['queue-pending-of-down', 'queue-give-up', 'queue-resolve-owed', 'queue-resolve-queued'];
  expect(done.map(([name]) => name).slice(0, 12)).toEqual([...kinds, ...kinds, ...kinds]);
});

test('a round ends after some seconds, whatever is left; the next one goes on', async () => {
  await queueMany(subscribed[0], 2500);
  await subscribed[0].admin('DELETE', `subscriptions/${subscribed[0].id}`);
  let now = performance.now();
  jest.spyOn(performance, 'now').mockImplementation(() => (now += 3_000));
  const left: number[] = [];
  for (let round = 0; round < 3; round++) {
    await upkeep();
    left.push(await unresolved(subscribed[0]));
  }
  expect(left).toEqual([1500, 500, 0]);
});
