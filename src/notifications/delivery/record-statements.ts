/** How attempts ended, as it is written: by whoever holds the token (delivery-statements.ts, 4), and by nobody else. */
import { acrossAccounts, fewOf, opaque, prepared } from '../../platform/database/database.js';

const RISE = `UPDATE subscriptions s
  SET health = 'UP', health_changed_at = statement_timestamp(), next_probe_at = NULL, probe_step = 0, probe_token = NULL
  FROM (SELECT DISTINCT subscription_id FROM done WHERE while_down) risen
  WHERE s.id = risen.subscription_id AND s.health = 'DOWN'`;

const ITEMS = (outcome: string) => `UPDATE job_items i SET outcome = '${outcome}'
  FROM done WHERE i.job_id = done.job_id AND i.notification_position = done.position AND i.outcome = 'SENT'
  RETURNING i.job_id, i.subscription_id`;

/**
 * What was delivered: $1 subscriptions, $2 positions, $3 tokens, $4 triggers, $5 bulk jobs, $6 sent while the partner
 * was DOWN, $7 begun at, $8 milliseconds, $9 excerpts. A 200 to what was sent while the partner was DOWN turns it UP.
 * Answers with the subscriptions for which the end of an event has set a later one of its booking free.
 */
export const RECORD_DELIVERED = prepared(
  'delivery-record-delivered',
  `WITH done AS (
     DELETE FROM deliveries d
     USING unnest(${opaque('$1::uuid[]')}, $2::bigint[], $3::bigint[], $4::text[], $5::uuid[], $6::boolean[], $7::timestamptz[],
       $8::int[], $9::text[])
       AS o (subscription_id, position, token, trigger, job_id, while_down, at, duration_ms, excerpt)
     WHERE ${fewOf('o.position')} AND d.subscription_id = o.subscription_id AND d.notification_position = o.position AND d.lease_token = o.token
     RETURNING o.*, d.booking_code, d.event_sequence),
   marked AS (
     UPDATE notifications n
     SET state = 'DELIVERED', retry = NULL, failure = NULL, failure_reason = NULL, http_status = NULL,
       queued_datetime = NULL, resolved_datetime = NULL,
       delivered_datetime = done.at + make_interval(secs => done.duration_ms / 1000.0)
     FROM done WHERE n.position = done.position AND done.trigger <> 'REPLAY'),
   logged AS (
     INSERT INTO notification_attempts
       (notification_position, subscription_id, at, duration_ms, trigger, http_status, excerpt)
     SELECT position, subscription_id, at, duration_ms, trigger, 200, excerpt FROM done),
   risen AS (${RISE}),
   items AS (${ITEMS('DELIVERED')}),
   parts AS (
     UPDATE job_parts p
     SET delivered = p.delivered + ended.count, state = CASE p.state WHEN 'TRYING' THEN 'OPEN' ELSE p.state END
     FROM (SELECT job_id, subscription_id, count(*)::int AS count FROM items GROUP BY 1, 2 ORDER BY 1, 2) ended
     WHERE p.job_id = ended.job_id AND p.subscription_id = ended.subscription_id)
   SELECT DISTINCT done.subscription_id FROM done WHERE EXISTS (
     SELECT FROM deliveries later
     WHERE later.subscription_id = done.subscription_id AND later.booking_code = done.booking_code
       AND later.event_sequence > done.event_sequence OFFSET 0)`,
  acrossAccounts.workers,
);

/**
 * What failed: $1 to $9 as above, $10 who retries, $11 failure classes, $12 statuses, $13 was a probe, $14 tells of the
 * partner, $15 RETRY_SCHEDULE_S, $16 reasons, $17 by what a wait is stretched. AUTO keeps the obligation and turns the
 * partner DOWN; MANUAL ends it. What fails in a replay was delivered before, and stays so.
 */
export const RECORD_FAILED = prepared(
  'delivery-record-failed',
  `WITH o AS MATERIALIZED (
     SELECT * FROM unnest(${opaque('$1::uuid[]')}, $2::bigint[], $3::bigint[], $4::text[], $5::uuid[], $6::boolean[], $7::timestamptz[],
       $8::int[], $9::text[], $10::text[], $11::text[], $12::int[], $13::boolean[], $14::boolean[], $16::text[], $17::float8[])
       AS o (subscription_id, position, token, trigger, job_id, while_down, at, duration_ms, excerpt, retry, failure,
         http_status, probe, partner_level, reason, stretch)),
   kept AS (
     UPDATE deliveries d SET lease_token = NULL, leased_until = NULL, trigger = 'AUTO', job_id = NULL
     FROM o WHERE ${fewOf('o.position')} AND o.retry = 'AUTO' AND o.trigger <> 'REPLAY'
       AND d.subscription_id = o.subscription_id AND d.notification_position = o.position AND d.lease_token = o.token
     RETURNING o.*, d.booking_code, d.event_sequence),
   ended AS (
     DELETE FROM deliveries d USING o WHERE ${fewOf('o.position')} AND (o.retry = 'MANUAL' OR o.trigger = 'REPLAY')
       AND d.subscription_id = o.subscription_id AND d.notification_position = o.position AND d.lease_token = o.token
     RETURNING o.*, d.booking_code, d.event_sequence),
   done AS MATERIALIZED (SELECT * FROM kept UNION ALL SELECT * FROM ended),
   marked AS (
     UPDATE notifications n
     SET state = 'ERROR_QUEUE', retry = done.retry, failure = done.failure, failure_reason = done.reason,
       http_status = done.http_status, queued_datetime = coalesce(n.queued_datetime, statement_timestamp()),
       resolved_datetime = NULL
     FROM done WHERE n.position = done.position AND done.trigger <> 'REPLAY'),
   logged AS (
     INSERT INTO notification_attempts
       (notification_position, subscription_id, at, duration_ms, trigger, http_status, failure, reason, excerpt)
     SELECT position, subscription_id, at, duration_ms, trigger, http_status, failure, reason, excerpt FROM done),
   fallen AS (
     UPDATE subscriptions s
     SET health = 'DOWN', health_changed_at = statement_timestamp(), probe_step = 0, probe_token = NULL,
       next_probe_at = statement_timestamp() + make_interval(secs => ($15::float8[])[1] * failing.stretch)
     FROM (SELECT subscription_id, max(stretch) AS stretch FROM done WHERE retry = 'AUTO' GROUP BY subscription_id) failing
     WHERE s.id = failing.subscription_id AND s.health = 'UP'),
   probed AS (
     UPDATE subscriptions s
     SET probe_step = s.probe_step + 1,
       next_probe_at = statement_timestamp()
         + make_interval(secs => ($15::float8[])[least(s.probe_step + 2, cardinality($15::float8[]))] * probing.stretch)
     FROM (SELECT subscription_id, token, stretch FROM done WHERE probe) probing
     WHERE s.id = probing.subscription_id AND s.health = 'DOWN' AND s.probe_token = probing.token),
   items AS (${ITEMS('FAILED')}, done.partner_level, done.failure),
   parts AS (
     UPDATE job_parts p
     SET failed = p.failed + ended.count, state = CASE WHEN ended.failure IS NULL THEN p.state ELSE 'PAUSED' END,
       paused_because = coalesce(ended.failure, p.paused_because)
     FROM (
       SELECT job_id, subscription_id, count(*)::int AS count, min(failure) FILTER (WHERE partner_level) AS failure
       FROM items GROUP BY 1, 2 ORDER BY 1, 2) ended
     WHERE p.job_id = ended.job_id AND p.subscription_id = ended.subscription_id)
   SELECT DISTINCT done.subscription_id FROM done WHERE (done.retry = 'MANUAL' OR done.trigger = 'REPLAY') AND EXISTS (
     SELECT FROM deliveries later
     WHERE later.subscription_id = done.subscription_id AND later.booking_code = done.booking_code
       AND later.event_sequence > done.event_sequence OFFSET 0)`,
  acrossAccounts.workers,
);
