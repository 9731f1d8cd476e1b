import { QueueUpkeep } from '../../src/notifications/delivery/queue-upkeep';
import { SubscriptionRetention } from '../../src/notifications/delivery/subscription-retention';
import { DeliveryLoop } from '../../src/notifications/delivery/delivery-loop';
import { Metrics } from '../../src/platform/observability/metrics';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp({ env: { NOTIFICATION_RETENTION_DAYS: '30' } });
});
afterAll(() => app.close());
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
});
afterEach(() => subscribed.stop());

const retain = () => app.app.get(SubscriptionRetention).run();
const of = async (id: string) => {
  const [left] = await app.given.sql(
    `SELECT (SELECT count(*) FROM subscriptions WHERE id = $1)::int AS subscriptions,
       (SELECT count(*) FROM notifications WHERE subscription_id = $1)::int AS notifications,
       (SELECT count(*) FROM deliveries WHERE subscription_id = $1)::int AS deliveries,
       (SELECT count(*) FROM notification_attempts WHERE subscription_id = $1)::int AS attempts,
       (SELECT count(*) FROM error_queue_causes WHERE subscription_id = $1)::int AS causes`,
    [id],
  );
  return left;
};

test('keeps all data of a deleted subscription until NOTIFICATION_RETENTION_DAYS have passed, and then deletes it', async () => {
  const other = await Subscribed.start(app);
  await other.booking();
  await subscribed.booking();
  await subscribed.partner.received(1);
  subscribed.partner.answer({ status: 400 });
  await subscribed.booking();
  await eventually(async () => expect(await subscribed.queue()).toHaveLength(1));
  await other.partner.received(1);
  const { id } = subscribed;
  const kept = await of(other.id);
  await subscribed.admin('DELETE', `subscriptions/${id}`);
  await eventually(async () => expect(await subscribed.notifications('&state=RESOLVED')).toHaveLength(1));
  await retain();
  expect(await of(id)).toMatchObject({ subscriptions: 1, notifications: 2, deliveries: 0, attempts: 2 });
  await app.given.sql(`UPDATE subscriptions SET deleted_datetime = now() - interval '31 days' WHERE id = $1`, [id]);
  await retain();
  expect(await of(id)).toEqual({ subscriptions: 0, notifications: 0, deliveries: 0, attempts: 0, causes: 0 });
  await eventually(async () => expect(await of(other.id)).toMatchObject({ ...kept, deliveries: 0, attempts: 1 }));
  await other.stop();
});

test('removes a deleted partner, and no other, from the delivery loop and the metrics', async () => {
  const other = await Subscribed.start(app);
  for (const one of [subscribed, other]) {
    await one.booking();
    await eventually(async () => expect(await one.notifications('&state=DELIVERED')).toHaveLength(1));
  }
  const shown = async () => {
    const text = await app.app.get(Metrics).registry.metrics();
    return [subscribed, other].map(({ id }) => text.includes(`partner="${id}"`));
  };
  expect(await shown()).toEqual([true, true]);
  await subscribed.admin('DELETE', `subscriptions/${subscribed.id}`);
  await eventually(async () => {
    await retain();
    expect(await shown()).toEqual([false, true]);
    // The test repeats this check, because the delivery loop removes a partner from memory only when no claim is
    // running.
    const known = app.app.get(DeliveryLoop).known();
    expect([subscribed, other].map(({ id }) => known.includes(id))).toEqual([false, true]);
  });
  await other.stop();
});

test('stores a suspension period for as long as it affects when the service gives up on notifications', async () => {
  const hours = (ago: number) => new Date(Date.now() - ago * 3600_000).toISOString();
  const suspensions = async () =>
    (
      await app.given.sql('SELECT unnest(suspensions) AS one FROM subscriptions WHERE id = $1 ORDER BY 1', [
        subscribed.id,
      ])
    ).length;
  await app.given.sql(
    `UPDATE subscriptions SET suspensions = $2::tstzmultirange, suspended_datetime = now() - interval '90 hours' WHERE id = $1`,
    // In the last 84 hours, the subscription was suspended for 60 hours, and was not suspended for the other 24 hours.
    // The first of the three suspensions ended before these 84 hours, so it is deleted.
    [subscribed.id, `{[${hours(300)},${hours(200)}),[${hours(80)},${hours(60)}),[${hours(45)},${hours(5)})}`],
  );
  await retain();
  // While a subscription is suspended, all of its earlier suspensions are kept.
  expect(await suspensions()).toBe(3);
  await app.given.sql('UPDATE subscriptions SET suspended_datetime = NULL WHERE id = $1', [subscribed.id]);
  await retain();
  expect(await suspensions()).toBe(2);

  const queue = (ago: number) =>
    app.given.sql(
      `INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
         effective_date, body, state, retry, failure, http_status, queued_datetime)
       VALUES (gen_random_uuid(), $1, $2, 'BOOKING_CREATED', 'X', 1, now(), '{"candidate_id": "C-1", "booking_on": "2031-01-01T10:00:00Z"}',
         'ERROR_QUEUE', 'AUTO', 'server_error', 500, $3)`,
      [subscribed.id, subscribed.scene.account, hours(ago)],
    );
  // The subscription was suspended for 60 of the last 83.9 hours. Only the other 23.9 hours count for the first
  // notification.
  await queue(83.9);
  await queue(84.1);
  await app.given.sql(
    `INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger)
     SELECT subscription_id, position, booking_code, event_sequence, 'AUTO' FROM notifications WHERE subscription_id = $1`,
    [subscribed.id],
  );
  await app.given.sql(
    `UPDATE subscriptions SET health = 'DOWN', next_probe_at = now() + interval '1 hour' WHERE id = $1`,
    [subscribed.id],
  );
  await app.app.get(QueueUpkeep).run();
  expect((await subscribed.queue()).map((row) => row['retry'])).toEqual(['AUTO', 'MANUAL']);
});
