import { ExpirySweep } from '../../src/eligibility/expiry-sweep';
import { DeliveryInvariant } from '../../src/notifications/delivery/delivery-invariant';
import { DeliveryLoop } from '../../src/notifications/delivery/delivery-loop';
import { Metrics } from '../../src/platform/observability/metrics';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { holdAt } from '../support/races';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeEach(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
});
afterEach(async () => {
  await subscribed.stop();
  await app.close();
});

const count = async (what: string, values: unknown[] = []) =>
  (await app.given.sql(`SELECT count(*) AS n FROM ${what}`, values))[0]['n'] as number;

/** Creates copies of the subscription that are suspended, so that their notifications stay unsent. */
async function listeners(n: number): Promise<void> {
  const columns = (
    await app.given.sql(
      `SELECT column_name FROM information_schema.columns
       WHERE table_name = 'subscriptions' AND column_name NOT IN ('id', 'position', 'state')`,
    )
  ).map((row) => row['column_name'] as string);
  await app.given.sql(
    `INSERT INTO subscriptions (id, state, ${columns.join(', ')})
     SELECT gen_random_uuid(), 'SUSPENDED', ${columns.join(', ')} FROM subscriptions, generate_series(1, $2) WHERE id = $1`,
    [subscribed.id, n],
  );
}

/**
 * Creates new bookings, each with its first event but without notifications. A process leaves such events behind if it
 * is killed before it translates them.
 */
async function leftOver(n: number, changes = ''): Promise<void> {
  await app.given.sql(
    `INSERT INTO domain_events (event_id, name, account_code, stream, sequence, data, occurred_at, claimed_until)
     SELECT gen_random_uuid(), name, account_code, 'LEFT' || lpad(number::text, 6, '0'), 1, data, occurred_at ${changes},
       now() - interval '1 second'
     FROM domain_events, generate_series(1, $1) AS number WHERE stream NOT LIKE 'LEFT%' AND sequence = 1`,
    [n],
  );
}

const untranslated = () => count('domain_events WHERE settled_at IS NULL AND set_aside_at IS NULL');

test('translates a burst of events for many subscriptions completely, and serves other accounts in the meantime', async () => {
  const other = await Subscribed.start(app);
  await subscribed.booking();
  await subscribed.partner.received(1);
  await listeners(80);
  await leftOver(120);
  await other.booking();
  await other.partner.received(1, 30_000);
  await eventually(async () => expect(await untranslated()).toBe(0), 45_000);
  expect(await count(`notifications WHERE booking_code LIKE 'LEFT%'`)).toBe(120 * 81);
  expect(
    await count(
      `(SELECT FROM deliveries d JOIN notifications n ON n.position = d.notification_position
        WHERE n.booking_code LIKE 'LEFT%' AND (n.subscription_id, n.booking_code) = (d.subscription_id, d.booking_code)) owed`,
    ),
  ).toBeGreaterThanOrEqual(120 * 80);
  await other.stop();
});

test('the statement that creates the first notification of a booking also claims the notification for the worker that then sends it', async () => {
  await subscribed.booking();
  await subscribed.partner.received(1);
  const loop = app.app.get(DeliveryLoop);
  const tokens = () => app.given.sql('SELECT lease_token FROM deliveries');
  await eventually(async () => expect(await tokens()).toEqual([]));
  await eventually(() => expect(loop.readyFor(1)).toEqual([subscribed.id]));
  const [hold, partner] = [holdAt(app, 'translated'), subscribed.partner];
  partner.answer({ status: 200, delayMs: 500 });
  await subscribed.booking();
  await hold.reached;
  const born = await tokens();
  expect(born).toEqual([{ lease_token: expect.any(Number) }]);
  hold.release();
  await partner.received(2);
  expect(await tokens()).toEqual(born);
});

test("translates the events of other bookings while one booking is locked, and sends the locked booking's events in order afterwards", async () => {
  const { partner } = subscribed;
  const hold = holdAt(app, 'translating', false);
  const held = await subscribed.booking();
  await hold.reached;
  const other = await subscribed.booking();
  await partner.receivedFor(other, 1);
  await subscribed.reschedule(held);
  hold.release();
  await partner.received(3, 2_000);
  const told = partner.requests.map(({ json }) => [json?.booking_code, json?.change_reason]);
  expect(told).toEqual([
    [other, 'BOOKING_CREATED'],
    [held, 'BOOKING_CREATED'],
    [held, 'BOOKING_RESCHEDULED'],
  ]);
});

describe('an event that cannot be translated', () => {
  beforeEach(async () => {
    await subscribed.booking();
    await subscribed.partner.received(1);
    await app.given.sql(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`,
    );
    await app.given.sql(
      `CREATE TRIGGER refuse_one BEFORE INSERT ON notifications FOR EACH ROW
       WHEN (NEW.booking_code = 'LEFT000013' AND NEW.event_sequence = 1) EXECUTE FUNCTION refuse()`,
    );
  });

  test('an event that cannot be translated is set aside, is reported by the metrics, and does not delay other events', async () => {
    await leftOver(40);
    await app.given.sql(
      `INSERT INTO domain_events (event_id, name, account_code, stream, sequence, data, occurred_at, claimed_until)
       SELECT gen_random_uuid(), 'booking.cancelled', account_code, stream, 2, data, occurred_at, claimed_until
       FROM domain_events WHERE stream = 'LEFT000013'`,
    );
    await eventually(async () => expect(await untranslated()).toBe(0), 30_000);
    expect(await app.given.sql('SELECT stream, sequence FROM domain_events WHERE set_aside_at IS NOT NULL')).toEqual([
      { stream: 'LEFT000013', sequence: 1 },
    ]);
    expect(await count(`notifications WHERE booking_code LIKE 'LEFT%'`)).toBe(40);
    await app.app.get(DeliveryInvariant).check();
    expect(await app.app.get(Metrics).registry.metrics()).toContain('domain_events_set_aside 1');
    expect((await app.call('GET', '/health/ready')).status).toBe(200);
  });

  test('translates a set-aside event after an operator has removed the cause and cleared set_aside_at', async () => {
    await leftOver(13);
    await eventually(async () => expect(await count('domain_events WHERE set_aside_at IS NOT NULL')).toBe(1), 30_000);
    await app.given.sql('DROP TRIGGER refuse_one ON notifications');
    await app.given.sql('UPDATE domain_events SET set_aside_at = NULL');
    await subscribed.partner.receivedFor('LEFT000013', 0);
    await eventually(async () => expect(await count(`notifications WHERE booking_code = 'LEFT000013'`)).toBe(1));
  });
});

test('creates the same notification when an event is translated again after the database was restored to an earlier moment', async () => {
  const booking = await subscribed.booking();
  const [before] = await subscribed.partner.received(1);
  await eventually(async () => expect(await count('deliveries')).toBe(0));
  await app.given.sql('DELETE FROM notification_attempts');
  await app.given.sql('DELETE FROM notifications WHERE booking_code = $1', [booking]);
  await app.given.sql(`UPDATE domain_events SET settled_at = NULL, claimed_until = now() - interval '1 second'`);
  const [, again] = await subscribed.partner.received(2, 15_000);
  expect(again.headers['webhook-id']).toBe(before.headers['webhook-id']);
  expect(again.headers['webhook-id']).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
  // The id of a notification begins with the time of the event. PostgreSQL therefore adds new notifications at the end
  // of the index.
  const [{ made_at }] = await app.given.sql('SELECT left(event_id::text, 13) AS made_at FROM domain_events');
  expect(String(again.headers['webhook-id']).slice(0, 13)).toBe(made_at);
  expect(again.raw).toEqual(before.raw);
});

test('an event that only a newer release knows waits for a process of that release, and delays no other event', async () => {
  await subscribed.booking();
  await subscribed.partner.received(1);
  await leftOver(3);
  await app.given.sql(`UPDATE domain_events SET name = 'booking.sent-to-mars' WHERE stream = 'LEFT000002'`);
  await eventually(async () => expect(await count(`notifications WHERE booking_code LIKE 'LEFT%'`)).toBe(2));
  expect(await untranslated()).toBe(1);
});

test('the translation skips an event that a second process has locked, and delays no other event', async () => {
  await subscribed.booking();
  await subscribed.partner.received(1);
  await leftOver(3);
  const release = await app.given.lock(`SELECT FROM domain_events WHERE stream = 'LEFT000002' FOR UPDATE`);
  await eventually(async () => expect(await count(`notifications WHERE booking_code LIKE 'LEFT%'`)).toBe(2));
  await release();
  await eventually(async () => expect(await count(`notifications WHERE booking_code LIKE 'LEFT%'`)).toBe(3), 15_000);
});

test('/health/ready returns 503 when an event has waited for its translation into notifications for over a minute', async () => {
  await subscribed.booking();
  await subscribed.partner.received(1);
  await app.given.sql('ALTER TABLE notifications ADD CONSTRAINT nothing_fits CHECK (false) NOT VALID');
  // Normally, the service marks an event that it cannot translate, and skips the event from then on. The constraint
  // prevents the mark, so the event stays overdue.
  await app.given.sql('ALTER TABLE domain_events ADD CONSTRAINT none_aside CHECK (set_aside_at IS NULL)');
  await leftOver(1, `- interval '2 minutes'`);
  await app.app.get(DeliveryInvariant).check();
  const ready = await app.call('GET', '/health/ready');
  expect(ready.status).toBe(503);
  expect(ready.body.parts).toMatchObject({ deliveries: 'overdue' });
  const age = /^domain_events_oldest_untranslated_seconds (\d+)/m.exec(await app.app.get(Metrics).registry.metrics());
  expect(Number(age?.[1])).toBeGreaterThanOrEqual(120);
});

test('/health/ready measures the age of an expiry event from the moment the event was stored, not from the moment of expiry', async () => {
  await subscribed.admin('PATCH', `subscriptions/${subscribed.id}`, { record_changes: ['EXPIRED'] });
  await app.given.sql('ALTER TABLE notifications ADD CONSTRAINT nothing_fits CHECK (false) NOT VALID');
  await app.given.sql('ALTER TABLE domain_events ADD CONSTRAINT none_aside CHECK (set_aside_at IS NULL)');
  await app.given.eligibility(subscribed.scene);
  await app.given.sql(
    `UPDATE eligibilities SET schedule_start_date = NULL, eligibility_end_date = now() - interval '1 hour'`,
  );
  await app.app.get(ExpirySweep, { strict: false }).run();
  const ready = async () => {
    await app.app.get(DeliveryInvariant).check();
    return (await app.call('GET', '/health/ready')).status;
  };
  expect([await untranslated(), await ready()]).toEqual([1, 200]);
  await app.given.sql(
    `UPDATE domain_events SET event_id = (lpad(to_hex((extract(epoch FROM now() - interval '2 minutes') * 1000)::bigint),
       12, '0') || right(replace(event_id::text, '-', ''), 20))::uuid`,
  );
  expect([await untranslated(), await ready()]).toEqual([1, 503]);
});
