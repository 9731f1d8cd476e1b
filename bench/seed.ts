import type { Client } from 'pg';
import type { Scene } from './scene.js';

const DEADLOCK_DETECTED = '40P01';

/**
 * Empties the tables to which requests write. These include the append-only audit log, whose trigger is disabled
 * meanwhile.
 */
export function clearEligibilities(client: Client): Promise<void> {
  return clear(
    client,
    `SET session_replication_role = replica;
     TRUNCATE eligibilities, eligibility_search_keys, audit_log CASCADE;
     SET session_replication_role = origin`,
  );
}

/** Empties the tables of events, notifications, attempts and deliveries. */
export function clearNotifications(client: Client): Promise<void> {
  return clear(
    client,
    'TRUNCATE domain_events, notifications, deliveries, notification_attempts, poll_offers, delivered_digests, digest_changes, digest_buckets',
  );
}

/**
 * Runs a statement that empties tables. After a deadlock, the statement is retried. Deadlocks can occur because a
 * running service locks these tables in a different order.
 */
async function clear(client: Client, text: string): Promise<void> {
  for (;;) {
    try {
      await client.query(text);
      return;
    } catch (error) {
      if ((error as { code?: unknown }).code !== DEADLOCK_DETECTED) throw error;
    }
  }
}

/** Inserts candidates `seeded-1`, `seeded-2` and so on, each with one eligibility. */
export async function seedEligibilities(client: Client, scene: Scene, count: number): Promise<void> {
  // The id of a record is its number in hexadecimal. Because ids cannot contain the digits 0 and 1, they are replaced
  // with X and Y.
  await client.query(
    `INSERT INTO eligibilities (svc_eligiblity_id, account_code, candidate_id, test_code, status, approval_pending,
       schedule_start_date, eligibility_end_date, registration_mode, portion_codes, first_name, middle_name, last_name,
       address1, city, province_state, postal_code, country, email, home_phone, school_code, special_accommodations,
       additional_attributes, created_datetime, updated_datetime)
     SELECT translate(lpad(upper(to_hex(n)), 8, '0'), '01', 'XY'), $1, 'seeded-' || n, $2, 'ELIGIBLE', false,
       '2026-01-01Z', '2036-01-01Z', 'Online', ARRAY[$3::text], 'Ada', 'Byron', 'Lovelace', '12 St James Square', 'Springfield',
       'IL', '62701', 'US', 'ada@example.org', '+1 217 555 0100', $4, ARRAY[$5::text],
       jsonb_build_array(jsonb_build_object('key', $6::text, 'value', '2027')), now() - interval '1 day', now() - interval '1 day'
     FROM generate_series(1, $7::int) AS n`,
    [
      scene.accountCode,
      scene.testCode,
      scene.portionCode,
      scene.schoolCode,
      scene.accommodationCode,
      scene.attributeKey,
      count,
    ],
  );
}

/** SQL: an expression for the body of a notification. */
const NOTIFICATION = `json_build_object('booking_code', booking, 'booking_on', '2027-03-01T09:00:00Z', 'candidate_fname', 'Ada',
  'candidate_id', 'seeded-' || n, 'candidate_lname', 'Lovelace', 'change_reason', 'BOOKING_CREATED', 'delivery_mode',
  'SITE_PROCTORED', 'effective_date', '2026-12-01T10:00:00Z', 'exam_code', 'EXAM-ONE', 'exam_portions',
  json_build_array(json_build_object('portion_code', 'MAIN', 'portion_name', 'Main')), 'location_address',
  '1 Main St, Springfield, IL', 'location_code', 'TC-042', 'location_name', 'Springfield Test Center',
  'location_timezone', 'America/Chicago')`;

/**
 * SQL: selects $1 events, two for each booking. In the order of the events, the second event of a booking comes 500
 * events after its first event.
 */
const EVENTS = `SELECT n, n % 1000 / 500 + 1 AS sequence, 'B' || lpad((n / 1000 * 500 + n % 500)::text, 9, '0') AS booking
  FROM generate_series(0, $1::int - 1) AS n`;

/** Activates the given partners, and suspends all other partners. */
export async function setActive(client: Client, subscriptions: readonly string[]): Promise<void> {
  await client.query(
    `UPDATE subscriptions SET state = CASE WHEN id = ANY ($1::uuid[]) THEN 'ACTIVE' ELSE 'SUSPENDED' END`,
    [subscriptions],
  );
}

/** SQL: inserts $1 notifications of account $2, distributed in turn over the partners $3. */
const BACKLOG = `WITH made AS (
    INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
      effective_date, body, state)
    SELECT gen_random_uuid(), ($3::uuid[])[n % cardinality($3::uuid[]) + 1], $2, 'BOOKING_CREATED', booking, sequence,
      now(), ${NOTIFICATION}, 'PENDING'
    FROM (${EVENTS}) event ORDER BY n
    RETURNING subscription_id, position, booking_code, event_sequence)
  INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger)
  SELECT subscription_id, position, booking_code, event_sequence, 'FIRST' FROM made`;

/** Inserts a backlog of notifications for the service, spread evenly over the account's subscriptions. */
export async function seedNotifications(
  client: Client,
  accountCode: string,
  subscriptions: readonly string[],
  count: number,
): Promise<void> {
  await clearNotifications(client);
  await client.query(BACKLOG, [count, accountCode, subscriptions]);
}

/**
 * Inserts the given number of refused notifications for a partner into the error queue. Each notification belongs to a
 * different booking.
 */
export async function seedQueued(
  client: Client,
  accountCode: string,
  subscription: string,
  count: number,
): Promise<void> {
  await client.query(
    `INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
       effective_date, body, state, retry, failure, http_status, queued_datetime)
     SELECT gen_random_uuid(), $3, $2, 'BOOKING_CREATED', booking, 1, now(), ${NOTIFICATION}, 'ERROR_QUEUE', 'MANUAL',
       'client_error', 400, now()
     FROM (SELECT n, 'Q' || lpad(n::text, 9, '0') AS booking FROM generate_series(1, $1::int) AS n) event ORDER BY n`,
    [count, accountCode, subscription],
  );
}

/** Inserts jobs of graphile-worker with the same bodies as the backlog of notifications. */
export async function seedGraphileJobs(client: Client, count: number): Promise<void> {
  await client.query(`SELECT count(graphile_worker.add_job('put', ${NOTIFICATION})) FROM (${EVENTS}) event`, [count]);
}

/**
 * The partner for which the claiming of notifications is measured. The partner has {@link WAITING} notifications,
 * regardless of the amount of other data.
 */
export const CLAIMED_PARTNER = '00000000-0000-4000-8000-000000000000';
const WAITING = 1_000;

/**
 * SQL: inserts partners, whose numbers begin at 0. $1: the account; $2: the number of the last partner, which is DOWN.
 * Nothing is ever sent to the partners, because their secrets are invalid.
 */
const PARTNERS = `INSERT INTO subscriptions (id, account_code, partner_url, change_reasons, auth, auto_retry_on, signing_secret,
    state, health, health_changed_at, next_probe_at, created_datetime, updated_datetime)
  SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, 'https://127.0.0.1:1', ARRAY['BOOKING_CREATED'],
    '{"type": "none"}', ARRAY['500'], '', 'ACTIVE', CASE n WHEN $2 THEN 'DOWN' ELSE 'UP' END, now(),
    CASE n WHEN $2 THEN now() + interval '1 hour' END, now(), now()
  FROM generate_series(0, $2::int) AS n`;

/** Inserts a suspended partner, for which each booking creates a waiting notification. */
export async function seedSuspendedPartner(client: Client, accountCode: string): Promise<void> {
  await client.query(
    `INSERT INTO subscriptions (id, account_code, partner_url, change_reasons, auth, auto_retry_on, signing_secret, state,
       health, health_changed_at, created_datetime, updated_datetime)
     VALUES (gen_random_uuid(), $1, 'https://127.0.0.1:1', ARRAY['BOOKING_CREATED'], '{"type": "none"}', ARRAY['500'], '',
       'SUSPENDED', 'UP', now(), now(), now())`,
    [accountCode],
  );
}

/**
 * SQL: inserts notifications. $1: the account; $2: the number of partners; $3: the number of notifications; $4: the
 * number of notifications in the error queue, which are spread over the whole history and over all partners. Like the
 * ids that the service generates, the ids begin with the time.
 */
const HISTORY = `WITH event AS (
    SELECT n, 'B' || lpad(n::text, 9, '0') AS booking, n % ($3::int / $4::int) = 0 AS queued,
      CASE WHEN n % (2 * ($3::int / $4::int)) = 0 THEN $2::int ELSE n / ($3::int / $4::int) % $2::int END AS partner
    FROM generate_series(1, $3::int) AS n),
  made AS (
    INSERT INTO notifications (id, event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
      effective_date, body, state, retry, failure, http_status, queued_datetime, delivered_datetime)
    SELECT uuidv7(), uuidv7(), ('00000000-0000-4000-8000-' || lpad(partner::text, 12, '0'))::uuid, $1, 'BOOKING_CREATED',
      booking, 1, now(), ${NOTIFICATION}, CASE WHEN queued THEN 'ERROR_QUEUE' ELSE 'DELIVERED' END,
      CASE WHEN queued THEN CASE partner WHEN $2 THEN 'AUTO' ELSE 'MANUAL' END END,
      CASE WHEN queued THEN 'server_error' END, CASE WHEN queued THEN 500 ELSE 200 END,
      CASE WHEN queued THEN now() END, CASE WHEN NOT queued THEN now() END
    FROM event ORDER BY n
    RETURNING position, subscription_id, booking_code, retry, failure, http_status),
  logged AS (
    INSERT INTO notification_attempts (notification_position, subscription_id, at, duration_ms, trigger, http_status, failure)
    SELECT position, subscription_id, now(), 5, 'FIRST', http_status, failure FROM made),
  counted AS (
    INSERT INTO error_queue_causes (subscription_id, retry, failure, http_status, change)
    SELECT subscription_id, retry, failure, http_status, count(*) FROM made WHERE retry IS NOT NULL GROUP BY 1, 2, 3, 4)
  INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger)
  SELECT subscription_id, position, booking_code, 1, 'AUTO' FROM made WHERE retry = 'AUTO'`;

/**
 * Inserts the notifications of several years. They consist of delivered notifications, some notifications in the error
 * queue, and a short backlog for one partner.
 */
export async function seedHistory(client: Client, accountCode: string, count: number, queued: number): Promise<void> {
  const partners = 20;
  // The counts of the error queue are written once for each cause. The trigger is disabled, because it would write the
  // counts for each row.
  await client.query('SET session_replication_role = replica');
  await seedPartners(client, accountCode, partners);
  await client.query(HISTORY, [accountCode, partners, count, queued]);
  await client.query(BACKLOG, [WAITING, accountCode, [CLAIMED_PARTNER]]);
  await client.query('SET session_replication_role = origin');
}

/**
 * Inserts the partners with the numbers 0 to `partners`. Partner 0 is {@link CLAIMED_PARTNER}, and the health of the
 * last partner is DOWN.
 */
export async function seedPartners(client: Client, accountCode: string, partners: number): Promise<void> {
  await client.query(PARTNERS, [accountCode, partners]);
}

export function streamOf(number: number): string {
  return `NEW${number}`;
}

/**
 * Inserts the first event of each of the given number of bookings. The service has yet to translate these events into
 * notifications.
 */
export async function seedEvents(client: Client, accountCode: string, count: number): Promise<void> {
  await client.query(
    `INSERT INTO domain_events (event_id, name, account_code, stream, sequence, data, occurred_at, claimed_until)
     SELECT uuidv7(), 'booking.created', $1, stream, 1, '{"booking_on": "2027-03-01T09:00:00Z", "change_reason": "BOOKING_CREATED"}', now(), now()
     FROM unnest($2::text[]) AS stream`,
    [accountCode, Array.from({ length: count }, (_, number) => streamOf(number))],
  );
}

/**
 * SQL: selects the statements that drop the indexes of tables, and the statements that create these indexes again. The
 * indexes of primary keys and of the targets of foreign keys are kept.
 */
const INDEXES = `SELECT
    CASE WHEN c.oid IS NULL THEN format('DROP INDEX %s', i.indexrelid::regclass)
      ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', i.indrelid::regclass, c.conname) END AS dropping,
    CASE WHEN c.oid IS NULL THEN replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
      ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) END AS making
  FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x')
  WHERE i.indrelid = ANY ($1::regclass[]) AND c.contype IS DISTINCT FROM 'p'
    AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.contype = 'f' AND f.conindid = i.indexrelid)`;

/**
 * Drops the secondary indexes of tables, fills the tables, and then builds the indexes again. This is faster than
 * filling the tables while the indexes exist.
 */
export async function withoutIndexes(
  client: Client,
  tables: readonly string[],
  fill: () => Promise<void>,
): Promise<void> {
  const { rows: indexes } = await client.query<{ dropping: string; making: string }>(INDEXES, [tables]);
  for (const { dropping } of indexes) await client.query(dropping);
  await fill();
  await client.query(`SET maintenance_work_mem = '1GB'`);
  for (const { making } of indexes) await client.query(making);
  await client.query('RESET maintenance_work_mem');
}
