import {
  Absent,
  BookingCancelled,
  BookingCreated,
  BookingRescheduled,
  ExamCompleted,
  ExcusedAbsent,
} from '../../bookings/bookings.events.js';
import { acrossAccounts, unestimated, prepared } from '../../platform/database/database.js';
import { RECORD_EVENT_NAMES } from '../../platform/changes/record-event.js';
import { storedNameOf } from '../../platform/events/domain-event.js';
import { LEASE, LEASE_END } from './delivery-lease.js';
import { MAY_BE_ASKED, PACE } from './pace-statements.js';

/** The stored names of booking events. */
const BOOKING_EVENT_NAMES = [
  BookingCreated,
  BookingCancelled,
  BookingRescheduled,
  ExamCompleted,
  ExcusedAbsent,
  Absent,
].map(storedNameOf);
/** The stored names of the events that are translated into notifications. */
export const EVENT_NAMES = [...BOOKING_EVENT_NAMES, ...RECORD_EVENT_NAMES];

/**
 * The maximum number of notifications that one statement creates. It may be exceeded only by a statement for a single
 * event.
 */
const MOST_NOTIFICATIONS = 2000;

/**
 * The SQL condition that an event `e` is the only event of its booking. No other event of the booking is then being
 * delivered, or about to be delivered. An event that was set aside and is translated late does not meet the condition
 * if later events follow it.
 */
const IS_ALONE = `e.sequence = 1 AND e.occurred_at > statement_timestamp() - interval '1 day'
  AND NOT EXISTS (SELECT FROM domain_events later WHERE later.stream = e.stream AND later.sequence > 1)`;

/**
 * The SQL expression that derives a notification's id from the event and the subscription. If an event is translated
 * again after a restore or failover, partners can therefore recognize the id. The id begins with the event's time, so
 * that the newest ids are at the end of the index (RFC 9562 §5.8, version 8).
 */
const HASH = `encode(sha256(convert_to(event_id || ' ' || subscription_id, 'UTF8')), 'hex')`;
const ID = `overlay(overlay(left(replace(event_id::text, '-', ''), 12) || left(${HASH}, 20)
  PLACING '8' FROM 13) PLACING 'a' FROM 17)::uuid`;

/**
 * The SQL condition that a subscription `s` gets notifications about events. The condition also holds while the address
 * of the subscription is being changed.
 */
const LISTENS = `s.deleted_datetime IS NULL AND (s.state <> 'UNVERIFIED' OR s.suspended_datetime IS NOT NULL)`;
/** The SQL condition that a subscription `s` asks for the kind of change that an event reports. */
const SELECTS = `(due.change_reason = ANY (s.change_reasons) OR due.change_reason = ANY (s.record_changes))`;
/** The SQL condition that a notification of this subscription may be sent when it is next in its booking. */
const MAY_BE_SENT = `s.delivery = 'PUSH' AND s.state = 'ACTIVE' AND s.health = 'UP'`;
/** The SQL condition that a notification of this subscription may be polled when it is next in its booking. */
const MAY_BE_POLLED = `s.delivery = 'POLL' AND s.state = 'ACTIVE'`;

/**
 * Translates events into notifications. $1: bookings and records; $2: the last event of each; $3: stored names; $4:
 * partners to which this process can send immediately; $5: the default wait time; $6: the fencing token for rows that
 * are claimed at their creation; $7 and $8: events of records, and the ids of their entries in the change feed as
 * readers see them. This single statement is the whole transaction:
 *
 * 1. The unsettled events are locked. Events that another process has locked are left to that process, together with
 *    later events of their booking. Otherwise, a later notification could be created before the earlier one is visible.
 * 2. Events are translated into at most `MOST_NOTIFICATIONS` notifications; `events_left` is the number of remaining
 *    events.
 * 3. Each subscription that asks for an event gets one notification about it. Notifications for a DOWN partner are
 *    created in the error queue, for automatic retry.
 * 4. Each notification gets its row in `deliveries` (delivery-statements.ts), and the events are settled.
 * 5. The notification of a booking's only event can be claimed at its creation. For this, the partner's row must be
 *    lockable as for a claim, and the partner must have neither a pace nor a pause. Never claim the notification of a
 *    later event here: another process may be creating the notification of an earlier event, which this statement
 *    cannot see yet.
 *
 * Positions and ids are generated before the rows are written, so that the new rows need not be joined with themselves.
 * The cost is therefore linear. Each event is locked by key, because the planner would otherwise compare each event
 * with all others. The body of a notification is the event's own text, so that one round trip to the database suffices.
 * Only the id of a change-feed entry is replaced in this text. An event of a record is not translated if no id is given
 * for it.
 */
export const TRANSLATE = prepared(
  'notifications-translate',
  `WITH open AS MATERIALIZED (
     SELECT e.event_id, e.stream, e.sequence, sealed.entry_id FROM unnest(${unestimated('$1::text[]')}, $2::int[]) AS wanted (stream, up_to)
     JOIN domain_events e ON e.stream = wanted.stream AND e.sequence <= wanted.up_to
     LEFT JOIN unnest(${unestimated('$7::uuid[]')}, $8::text[]) AS sealed (event_id, entry_id) ON sealed.event_id = e.event_id
     WHERE (sealed.entry_id IS NOT NULL OR e.name LIKE 'booking.%') AND e.settled_at IS NULL AND e.set_aside_at IS NULL AND e.name = ANY (${unestimated('$3::text[]')}::text[])),
   in_order AS MATERIALIZED (
     SELECT e.*, open.entry_id, bool_and(e.event_id IS NOT NULL) OVER (PARTITION BY open.stream ORDER BY open.sequence) AS whole
     FROM open LEFT JOIN LATERAL (
       SELECT * FROM domain_events locked WHERE locked.event_id = open.event_id OFFSET 0 FOR UPDATE SKIP LOCKED) e
       ON e.settled_at IS NULL AND e.set_aside_at IS NULL),
   account AS MATERIALIZED (
     SELECT account_code, (
       SELECT count(*) FROM subscriptions s WHERE s.account_code = accounts_of_events.account_code AND ${LISTENS}) AS subscriptions
     FROM (SELECT DISTINCT account_code FROM in_order WHERE event_id IS NOT NULL) accounts_of_events),
   due AS MATERIALIZED (
     SELECT * FROM (
       SELECT e.*, coalesce(e.data->>'change_reason', e.data->>'change') AS change_reason, ${IS_ALONE} AS is_alone, row_number() OVER running AS rank, sum(account.subscriptions) OVER running AS making
       FROM in_order e JOIN account USING (account_code)
       WHERE e.whole
       WINDOW running AS (ORDER BY e.stream, e.sequence)) counted
     WHERE rank = 1 OR making <= ${MOST_NOTIFICATIONS}),
   settled AS (
     UPDATE domain_events e SET settled_at = statement_timestamp() FROM due WHERE e.event_id = due.event_id),
   ready AS MATERIALIZED (
     SELECT s.id FROM subscriptions s
     WHERE s.id = ANY (${unestimated('$4::uuid[]')}::uuid[]) AND s.account_code IN (SELECT account_code FROM account)
       AND ${MAY_BE_SENT} AND ${LISTENS} AND ${PACE} IS NULL AND ${MAY_BE_ASKED}
     FOR KEY SHARE SKIP LOCKED),
   ${LEASE('$6')},
   drawn AS MATERIALIZED (
     SELECT nextval('notifications_position_seq') AS position, ${ID} AS id, made.*
     FROM (
       SELECT due.event_id, s.id AS subscription_id, due.account_code, due.change_reason, due.stream AS booking_code,
         due.sequence AS event_sequence, due.occurred_at AS effective_date, due.traceparent,
         CASE WHEN due.entry_id IS NULL THEN due.data::text ELSE replace(due.data::text, due.data->>'id', due.entry_id) END AS body,
         s.version, s.health_changed_at, s.health = 'DOWN' AS down, ${MAY_BE_SENT} AS may_be_sent, ${MAY_BE_POLLED} AS may_be_polled,
         CASE s.health WHEN 'DOWN' THEN 'AUTO' ELSE 'FIRST' END AS trigger,
         CASE WHEN due.is_alone AND s.id IN (SELECT id FROM ready) THEN ${LEASE_END} END AS leased_until
       FROM due CROSS JOIN LATERAL (
         SELECT s.id, s.version, s.delivery, s.state, s.health, s.health_changed_at, coalesce(s.wait_ms, $5::int) AS wait_ms
         FROM subscriptions s
         WHERE s.account_code = due.account_code AND ${SELECTS} AND ${LISTENS}
           AND NOT EXISTS (SELECT FROM notifications n WHERE n.event_id = due.event_id AND n.subscription_id = s.id)) s
       ORDER BY due.occurred_at, due.stream, due.sequence) made),
   made AS (
     INSERT INTO notifications (position, id, event_id, subscription_id, account_code, change_reason, booking_code,
       event_sequence, effective_date, traceparent, body, state, retry, queued_datetime)
     OVERRIDING SYSTEM VALUE
     SELECT position, id, event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
       effective_date, traceparent, body,
       CASE WHEN down THEN 'ERROR_QUEUE' ELSE 'PENDING' END,
       CASE WHEN down THEN 'AUTO' END,
       CASE WHEN down THEN statement_timestamp() END
     FROM drawn),
   pending AS (
     INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger, lease_token,
       leased_until)
     SELECT subscription_id, position, booking_code, event_sequence, trigger,
       CASE WHEN leased_until IS NOT NULL THEN lease.token END, leased_until
     FROM drawn, lease)
   SELECT did.*, drawn.position, drawn.subscription_id,
     CASE WHEN drawn.leased_until IS NOT NULL THEN lease.token END AS lease_token, drawn.trigger, NULL::uuid AS job_id,
     drawn.id, drawn.body, drawn.change_reason, drawn.event_sequence, drawn.traceparent, drawn.version, drawn.down, drawn.health_changed_at,
     NULL::float8 AS pace, drawn.may_be_sent, drawn.may_be_polled
   FROM (SELECT count(*) AS events_done, (SELECT count(*) FROM open) - count(*) AS events_left FROM due) did
     CROSS JOIN lease LEFT JOIN drawn ON true`,
  acrossAccounts.workers,
);

/**
 * Finds the change-feed positions that the untranslated events of records contain. $1: records; $2: the last event of
 * each.
 */
export const FIND_ENTRIES = prepared(
  'notifications-find-entries',
  `SELECT e.event_id, e.data->>'id' AS entry_id FROM unnest(${unestimated('$1::text[]')}, $2::int[]) AS wanted (stream, up_to)
   JOIN domain_events e ON e.stream = wanted.stream AND e.sequence <= wanted.up_to
   WHERE e.settled_at IS NULL AND e.set_aside_at IS NULL AND e.name LIKE 'record.%'`,
  acrossAccounts.workers,
);
