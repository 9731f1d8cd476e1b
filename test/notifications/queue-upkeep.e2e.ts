import { QueueUpkeep } from '../../src/notifications/delivery/queue-upkeep';
import type { Statement } from '../../src/platform/database/database';
import { startApp, type TestApp } from '../support/app';
import { queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

const BATCH = 1000;

let app: TestApp;
let subscribed: Subscribed[];

// The process under test does not have the `delivery` role, so that only the test runs the upkeep of the queue.
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

/** Returns a list to which each statement of the upkeep adds its name and the number of rows that it changed. */
function watched(): [string, number][] {
  const done: [string, number][] = [];
  const execute = app.database.execute.bind(app.database);
  jest.spyOn(app.database, 'execute').mockImplementation(async (statement: Statement, values?: unknown[]) => {
    const changed = await execute(statement, values);
    // The test ignores statements of the process's other background work.
    if (statement.name?.startsWith('queue-')) done.push([statement.name, changed]);
    return changed;
  });
  return done;
}

const upkeep = () => app.app.get(QueueUpkeep).run();
const unresolved = async ({ id }: Subscribed) =>
  (await app.given.sql(`SELECT FROM notifications WHERE subscription_id = $1 AND state <> 'RESOLVED'`, [id])).length;

test('the queue upkeep resolves notifications of deleted partners in batches, and does its other work between two batches', async () => {
  for (const one of subscribed) await queueMany(one, 1500);
  for (const one of subscribed) await one.admin('DELETE', `subscriptions/${one.id}`);
  const done = watched();
  // Stops the clock, so that the round does not end early at its time limit on a busy machine.
  jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  await upkeep();
  expect(await Promise.all(subscribed.map(unresolved))).toEqual([0, 0, 0]);
  expect(Math.max(...done.map(([, changed]) => changed))).toBe(BATCH);
  const kinds = [
    'queue-pending-of-down',
    'queue-give-up',
    'queue-give-up-busy',
    'queue-resolve-owed',
    'queue-resolve-queued',
  ];
  expect(done.map(([name]) => name).slice(0, 15)).toEqual([...kinds, ...kinds, ...kinds]);
});

test('a round of queue upkeep ends after some seconds even if work is left, and the next round continues the work', async () => {
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

describe('giving up notifications', () => {
  const HOURS = 24;

  /**
   * Creates the given number of events in the error queue. The events have the given age and are retried automatically.
   */
  async function retried(one: Subscribed, n: number, age: string): Promise<void> {
    await queueMany(one, n);
    await app.given.sql(
      `UPDATE notifications SET retry = 'AUTO', queued_datetime = now() - $2::interval
       WHERE subscription_id = $1 AND retry = 'MANUAL'`,
      [one.id, age],
    );
    await app.given.sql(
      `INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger)
       SELECT subscription_id, position, booking_code, event_sequence, 'AUTO' FROM notifications n
       WHERE subscription_id = $1 ON CONFLICT DO NOTHING`,
      [one.id],
    );
  }
  const become = ({ id }: Subscribed, health: 'UP' | 'DOWN', settings = '') =>
    app.given.sql(
      `UPDATE subscriptions SET health = '${health}', next_probe_at = ${health === 'DOWN' ? 'now()' : 'NULL'} ${settings}
       WHERE id = $1`,
      [id],
    );
  const manual = async ({ id }: Subscribed) =>
    (await app.given.sql(`SELECT FROM notifications WHERE subscription_id = $1 AND retry = 'MANUAL'`, [id])).length;

  test('does not give up on notifications that wait for a suspended or recovered partner', async () => {
    const [down, suspended, back] = subscribed;
    for (const one of subscribed) await retried(one, 3, `${HOURS + 1} hours`);
    await become(down, 'DOWN');
    await become(suspended, 'DOWN', `, state = 'SUSPENDED', suspended_datetime = now()`);
    await become(back, 'UP');
    await upkeep();
    expect(await Promise.all(subscribed.map(manual))).toEqual([3, 0, 0]);
  });

  test('gives up on notifications to a partner that returns only 429, but not if the partner also accepts some', async () => {
    const [busy, taking, lately] = subscribed;
    for (const one of subscribed) await retried(one, 3, '1 hour');
    const age = (one: Subscribed, hours: number) =>
      app.given.sql(
        `UPDATE deliveries SET due_datetime = now() - make_interval(hours => $2) WHERE subscription_id = $1`,
        [one.id, hours],
      );
    for (const one of subscribed) await age(one, HOURS + 1);
    const busySince = (hours: number) => `, busy_since = now() - interval '${hours} hours'`;
    await become(busy, 'UP', busySince(HOURS + 1));
    await become(taking, 'UP');
    await become(lately, 'UP', busySince(HOURS - 1));
    await upkeep();
    expect(await Promise.all(subscribed.map(manual))).toEqual([3, 0, 0]);
    await age(lately, 1);
    await become(lately, 'UP', busySince(HOURS + 1));
    await upkeep();
    expect(await manual(lately)).toBe(0);
    await age(lately, HOURS + 1);
    await become(lately, 'UP', `, state = 'SUSPENDED', suspended_datetime = now()`);
    await upkeep();
    expect(await manual(lately)).toBe(0);
  });

  test('the queue upkeep does not read notifications that are too recent to give up on, however many exist', async () => {
    const [suspended, once] = subscribed;
    await retried(suspended, 4000, '60 hours');
    await become(suspended, 'DOWN', `, state = 'SUSPENDED', suspended_datetime = now() - interval '50 hours'`);
    // The notification is 60 hours old. Forty of these hours do not count, because the partner was suspended.
    await retried(once, 4000, '60 hours');
    await retried(once, 2, '65 hours');
    await become(
      once,
      'DOWN',
      `, suspensions = tstzmultirange(tstzrange(now() - interval '55 hours', now() - interval '15 hours'))`,
    );
    let text = '';
    const execute = app.database.execute.bind(app.database);
    jest.spyOn(app.database, 'execute').mockImplementation((statement: Statement, values?: unknown[]) => {
      if (statement.name === 'queue-give-up') text = statement.text;
      return execute(statement, values);
    });
    await upkeep();
    expect(await Promise.all([suspended, once].map(manual))).toEqual([0, 2]);
    await app.given.sql('ANALYZE notifications');
    const [{ 'QUERY PLAN': plan }] = await app.given.sql(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text.replaceAll('$1', String(HOURS))}`,
    );
    expect(plan[0].Plan['Shared Hit Blocks'] + plan[0].Plan['Shared Read Blocks']).toBeLessThan(100);
  });
});
