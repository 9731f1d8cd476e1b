import { FAILING_SINCE } from '../../src/notifications/subscriptions/partner-standing';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { rowsOf } from '../support/plans';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
});
afterEach(() => subscribed.stop());

/**
 * Adds attempts to the log of the attempts to the partner. Each attempt lies one of the given numbers of hours in the
 * past.
 */
const attempted = (failure: string | null, hoursAgo: readonly number[]) =>
  app.given.sql(
    `INSERT INTO notification_attempts (notification_position, subscription_id, at, duration_ms, trigger, failure)
     SELECT 0, $1, date_trunc('second', now()) - hours * interval '1 hour', 5, 'FIRST', $2 FROM unnest($3::float8[]) hours`,
    [subscribed.id, failure, hoursAgo],
  );

/**
 * Returns `failing_since` of the subscription. Checks that the lists of subscriptions and partners show the same value.
 */
async function failingSince(): Promise<string | null> {
  const { failing_since: alone } = await subscribed.subscription();
  const account = `account_code=${subscribed.scene.account}`;
  for (const list of [`/admin/subscriptions?${account}`, `/admin/partners?${account}`])
    expect((await subscribed.get(list)).body).toMatchObject([{ failing_since: alone }]);
  return alone as string | null;
}
const hoursSince = (time: string | null) => (time === null ? null : (Date.now() - Date.parse(time)) / 3_600_000);

test('failing_since is the time of the first failed attempt after a delivery, and null after the next delivery', async () => {
  await subscribed.booking();
  await subscribed.partner.received(1);
  expect(await failingSince()).toBeNull();
  subscribed.partner.answer({ status: 500 });
  await subscribed.booking();
  await eventually(async () => expect(await subscribed.subscription()).toMatchObject({ health: 'DOWN' }));
  const [queued] = await subscribed.queue();
  const { attempts } = await subscribed.notification(queued['id']);
  expect(await failingSince()).toBe(attempts[0].at);
  // The next attempt may begin at any time, because the service sends to a DOWN partner by itself.
  subscribed.partner.answer({ status: 200 });
  await eventually(async () => expect(await failingSince()).toBeNull());
});

test('failing_since keeps its value during an outage of several days with many failed attempts', async () => {
  await attempted(null, [101]);
  await attempted('client_error', [102, 100, ...Array.from({ length: 30 }, (_, index) => 90 - index)]);
  expect(hoursSince(await failingSince())).toBeCloseTo(100, 1);
  await attempted(null, [1]);
  expect(await failingSince()).toBeNull();
});

test('failing_since is the time at which a partner became DOWN, if its failed attempts have been deleted', async () => {
  await app.given.sql(
    `UPDATE subscriptions SET health = 'DOWN', health_changed_at = date_trunc('second', now()) - interval '50 hours',
       next_probe_at = now() + interval '1 hour', probe_from = now() WHERE id = $1`,
    [subscribed.id],
  );
  expect(hoursSince(await failingSince())).toBeCloseTo(50, 1);
});

test('the query for failing_since reads few rows even if the partner has failed many times', async () => {
  await attempted(null, [5_001]);
  await attempted(
    'client_error',
    Array.from({ length: 30_000 }, (_, index) => 5_000 - index / 10),
  );
  await app.given.sql('VACUUM ANALYZE notification_attempts');
  const client = await app.database.pool.connect();
  try {
    const { lookedAt } = await rowsOf(client, `SELECT recent.failing_since FROM subscriptions s ${FAILING_SINCE}`);
    expect(lookedAt).toBeLessThan(50);
  } finally {
    client.release();
  }
});
