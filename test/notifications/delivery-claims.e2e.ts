import pg from 'pg';
import { leaseToken } from '../../src/notifications/delivery/delivery-lease';
import { CLAIM, CLAIM_PROBES } from '../../src/notifications/delivery/delivery-statements';
import { RECORD_FAILED } from '../../src/notifications/delivery/record-statements';
import type { Statement } from '../../src/platform/database/database';
import { Outbox } from '../../src/platform/events/outbox';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { rowsOf } from '../support/plans';
import { queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

const WAIT_MS = 10_000;
const HELD = 4711;

/**
 * Tests claims that several processes make at the same time. Each process is simulated by a connection that runs the
 * claim statement of the delivery loop. No real process delivers. A claim reads the time after PostgreSQL has taken the
 * snapshot of the statement, and before the statement reads the first row. The test replaces the function that returns
 * the time with a function that waits for a lock of the test. It can therefore pause a claim at that point.
 */
let app: TestApp;
let subscribed: Subscribed;
const clients: pg.Client[] = [];

async function connect(searchPath = 'public, pg_catalog'): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: app.databaseUrl });
  clients.push(client);
  await client.connect();
  await client.query(`SET search_path = ${searchPath}`);
  return client;
}

beforeAll(async () => {
  app = await startApp({ env: { ROLES: 'api' } });
  await app.given.sql('CREATE SCHEMA held');
  for (const name of ['statement_timestamp', 'transaction_timestamp'])
    await app.given.sql(
      `CREATE FUNCTION held.${name}() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$ BEGIN
         PERFORM pg_advisory_lock_shared(${HELD}); PERFORM pg_advisory_unlock_shared(${HELD});
         RETURN pg_catalog.${name}(); END $$`,
    );
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end();
  await app.given.sql('DELETE FROM deliveries');
  await subscribed.stop();
});
afterAll(() => app.close());

async function run(client: pg.Client, { text }: Statement, values: unknown[]): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(text, values);
  return rows.map(({ id }) => id);
}
const claim = (client: pg.Client) => run(client, CLAIM, [[subscribed.id], [10], WAIT_MS, leaseToken(), Infinity, 0]);
/** Runs a claim for a process whose clock jumped forward by an hour, `jumpedS` seconds ago. */
const claimAhead = (client: pg.Client, jumpedS: number) =>
  run(client, CLAIM, [[subscribed.id], [10], WAIT_MS, leaseToken(), Date.now() / 1000 - 3600, jumpedS]);
const probe = (client: pg.Client) => run(client, CLAIM_PROBES, [WAIT_MS, 10, leaseToken(), Infinity, 0]);

/**
 * Starts a claim, and pauses it after PostgreSQL has taken the snapshot and before the claim reads the first row. The
 * returned `goOn` continues the claim, and returns the ids of the claimed rows.
 */
async function heldClaim(how = claim): Promise<{ goOn: () => Promise<string[]> }> {
  const [holder, claiming] = [await connect(), await connect('public, held, pg_catalog')];
  await holder.query(`SELECT pg_advisory_lock(${HELD})`);
  const claimed = how(claiming);
  await eventually(async () =>
    expect(await app.given.sql(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)).toHaveLength(1),
  );
  return {
    goOn: async () => {
      await holder.query(`SELECT pg_advisory_unlock(${HELD})`);
      return claimed;
    },
  };
}

/**
 * Gives the notifications an expired lease. A claim reads the time only for rows with a lease, and the test can pause a
 * claim only when the claim reads the time.
 */
const lapse = () =>
  app.given.sql(`UPDATE deliveries SET lease_token = 0, leased_until = clock_timestamp() - interval '1 second'`);

/**
 * Creates an event whose notification waits for an operator, and a newer event of the same booking. Returns the ids of
 * the notifications of both events.
 */
async function refusedAndNext(): Promise<string[]> {
  const booking = await subscribed.booking();
  const first = await eventually(async () => {
    const [row] = await subscribed.notifications();
    expect(row).toBeDefined();
    return row;
  });
  await app.given.sql('DELETE FROM deliveries');
  await app.given.sql(
    `UPDATE notifications SET state = 'ERROR_QUEUE', retry = 'MANUAL', failure = 'client_error', http_status = 400,
       queued_datetime = clock_timestamp() WHERE id = $1`,
    [first['id']],
  );
  await subscribed.reschedule(booking);
  const ids = await eventually(async () => {
    const both = (await subscribed.notifications()).map((row) => row['id'] as string);
    expect(both).toHaveLength(2);
    return both;
  });
  await lapse();
  return ids;
}

const resend = async (id: string) =>
  expect((await subscribed.admin('POST', `error-queue/${id}/resend`)).status).toBe(202);
const leased = () =>
  app.given.sql('SELECT event_sequence FROM deliveries WHERE leased_until > clock_timestamp() ORDER BY event_sequence');

test('after the clock jumps forward, a leased notification and the next event of its booking are not claimed too early', async () => {
  const booking = await subscribed.booking();
  await eventually(async () => expect(await subscribed.notifications()).toHaveLength(1));
  await app.given.sql(
    `UPDATE deliveries SET lease_token = 0, leased_until = clock_timestamp() - interval '59 minutes'`,
  );
  await subscribed.reschedule(booking);
  await eventually(async () => expect(await subscribed.notifications()).toHaveLength(2));
  const client = await connect();
  expect(await claimAhead(client, 0)).toEqual([]);
  expect(await claimAhead(client, WAIT_MS / 1000 + 19)).toEqual([]);
  expect(await claimAhead(client, WAIT_MS / 1000 + 21)).toHaveLength(1);
});

test('a delivery process whose claim began before a manual resend claims no other event of the same booking', async () => {
  const [first] = await refusedAndNext();
  const late = await heldClaim();
  await resend(first);
  expect(await claim(await connect())).toEqual([first]);
  expect(await late.goOn()).toEqual([]);
  expect(await leased()).toEqual([{ event_sequence: 1 }]);
});

test('a manual resend is not claimed while another event of the same booking is being claimed or has just been claimed', async () => {
  const [first, second] = await refusedAndNext();
  const [early, other] = [await connect(), await connect()];
  await early.query('BEGIN');
  expect(await claim(early)).toEqual([second]);
  await resend(first);
  expect(await claim(other)).toEqual([]);
  const late = await heldClaim();
  await early.query('COMMIT');
  expect(await late.goOn()).toEqual([]);
  expect(await leased()).toEqual([{ event_sequence: 2 }]);
});

test('a delivery process that began to claim a probe before a manual resend claims no other event of the same booking', async () => {
  const [first] = await refusedAndNext();
  await app.given.sql(
    `UPDATE subscriptions SET health = 'DOWN', health_changed_at = clock_timestamp(), next_probe_at = clock_timestamp()
     WHERE id = $1`,
    [subscribed.id],
  );
  const late = await heldClaim(probe);
  await resend(first);
  expect(await claim(await connect())).toEqual([first]);
  expect(await late.goOn()).toEqual([]);
  expect(await leased()).toEqual([{ event_sequence: 1 }]);
  // The probe to the DOWN partner is still due, because no process has claimed it.
  expect(await app.given.sql('SELECT FROM subscriptions WHERE next_probe_at <= clock_timestamp()')).toHaveLength(1);
});

test('the late outcome of an earlier probe does not change the time of the next probe', async () => {
  for (let n = 0; n < 3; n++) await subscribed.booking();
  await eventually(async () => expect(await subscribed.notifications()).toHaveLength(3));
  const due = () =>
    app.given.sql(
      `UPDATE subscriptions SET health = 'DOWN', health_changed_at = clock_timestamp(), next_probe_at = clock_timestamp()
       WHERE id = $1`,
      [subscribed.id],
    );
  const next = async () =>
    (await app.given.sql('SELECT next_probe_at, probe_step FROM subscriptions WHERE id = $1', [subscribed.id]))[0];
  const client = await connect();
  const claimOne = async () => {
    const { rows } = await client.query<{ position: string; lease_token: string }>(CLAIM_PROBES.text, [
      WAIT_MS,
      10,
      leaseToken(),
      Infinity,
      0,
    ]);
    expect(rows).toHaveLength(1);
    return rows[0];
  };
  const refuse = ({ position, lease_token }: Awaited<ReturnType<typeof claimOne>>) =>
    client.query(RECORD_FAILED.text, [
      ...[[subscribed.id], [position], [lease_token], ['AUTO'], [null], [true], [new Date()], [1], [null], [null]],
      ['MANUAL'],
      [
        JSON.stringify({
          failure: 'client_error',
          http_status: 400,
          probe: true,
          partner_level: false,
          stretch: 1,
          busy: false,
          partner_url: subscribed.partner.url,
        }),
      ],
      [5, 30],
    ]);
  await due();
  const late = await claimOne();
  // The process that claimed the first probe is paused. The probe therefore becomes due again, and a second process
  // claims the probe.
  await due();
  const latest = await claimOne();
  expect(latest.position).not.toBe(late.position);
  const held = await next();
  await refuse(late);
  expect(await next()).toEqual(held);
  await refuse(latest);
  expect(await next()).toMatchObject({ probe_step: 1 });
  expect(await subscribed.queue('&retry=MANUAL')).toHaveLength(2);
});

test('a delivery process whose claim began before a lost notification was re-created claims no later event of its booking', async () => {
  const booking = await subscribed.booking();
  await subscribed.reschedule(booking);
  const [{ event_id }] = await eventually(async () => {
    const events = await app.given.sql('SELECT event_id FROM domain_events WHERE stream = $1 ORDER BY sequence', [
      booking,
    ]);
    expect(await subscribed.notifications()).toHaveLength(2);
    return events;
  });
  await app.given.sql(`DELETE FROM deliveries WHERE event_sequence = 1`);
  await app.given.sql(`DELETE FROM notifications WHERE event_id = $1`, [event_id]);
  await lapse();
  const late = await heldClaim();
  await app.given.sql(
    `UPDATE domain_events SET settled_at = NULL, claimed_until = clock_timestamp() - interval '1 second' WHERE event_id = $1`,
    [event_id],
  );
  await app.app.get(Outbox).sweep();
  const [mended] = await eventually(async () => {
    const rows = await subscribed.notifications();
    expect(rows).toHaveLength(2);
    return rows.filter((row) => row['event_sequence'] === 1);
  });
  expect(await claim(await connect())).toEqual([mended['id']]);
  expect(await late.goOn()).toEqual([]);
  expect(await leased()).toEqual([{ event_sequence: 1 }]);
});

test('with a generic query plan, the claim statement reads only the rows that it claims, not all waiting notifications', async () => {
  await queueMany(subscribed, 2000);
  await app.given.sql(
    `INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger)
     SELECT subscription_id, position, booking_code, event_sequence, 'FIRST' FROM notifications WHERE subscription_id = $1`,
    [subscribed.id],
  );
  // Adds many other partners with one delivery each, so that PostgreSQL's planner expects only a few rows for the
  // tested partner as well.
  await app.given.slowSql(
    `INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger)
     SELECT gen_random_uuid(), n, 'OTHER', 1, 'FIRST' FROM generate_series(1000001, 1002000) AS n`,
  );
  await app.given.sql('ANALYZE deliveries, notifications, subscriptions');
  const client = await connect();
  await client.query('SET plan_cache_mode = force_generic_plan');
  await client.query(`PREPARE claim AS ${CLAIM.text}`);
  const claim = `EXECUTE claim ('{${subscribed.id}}', '{32}', ${WAIT_MS}, ${leaseToken()}, 'Infinity', 0)`;
  const { answered, lookedAt } = await rowsOf(client, claim);
  expect(answered).toBe(32);
  expect(lookedAt).toBeLessThan(32 * 40);
});
