/**
 * The SQL statements that record the outcomes of attempts. Only the holder of the fencing token can write
 * (delivery-statements.ts, 4).
 */
import { acrossAccounts, expectingFew, unestimated, prepared } from '../../platform/database/database.js';
import { ERASED_ID } from '../../platform/personal-data.js';
import { FREE } from './delivery-lease.js';
import { SUSPECT_AFTER } from './delivery-statements.js';
import { CEILING, CONFIRMED, GROWN, INDEBTED, isOver } from './pace-statements.js';

/** The number of consecutive failures with the same HTTP status that pauses a part of a bulk job. */
const ALIKE = 10;

const RISES = `good.while_down AND s.health = 'DOWN'`;
const RISE = `UPDATE subscriptions s
  SET health = 'UP', next_probe_at = NULL, probe_from = NULL, probe_step = 0, probe_token = NULL,
    health_changed_at = CASE WHEN ${RISES} THEN statement_timestamp() ELSE s.health_changed_at END,
    pace = CASE good.answers WHEN 0 THEN s.pace ELSE ${GROWN('good.answers')} END,
    pace_good = s.pace_good + CASE WHEN s.pace IS NULL THEN 0 ELSE good.answers END,
    busy_since = NULL
  FROM (
    SELECT subscription_id, bool_or(while_down) AS while_down, (count(*) FILTER (WHERE others_wait))::int AS answers
    FROM done GROUP BY subscription_id ORDER BY subscription_id) good
  WHERE s.id = good.subscription_id
    AND (${RISES} OR s.health = 'UP' AND (good.answers > 0 AND s.pace IS NOT NULL OR s.busy_since IS NOT NULL))`;

const ITEMS = (outcome: string, unless = 'false') => `UPDATE job_items i SET outcome = '${outcome}'
  FROM done WHERE NOT ${unless} AND i.job_id = done.job_id AND i.notification_position = done.position AND i.outcome = 'SENT'
  RETURNING i.job_id, i.subscription_id`;

/**
 * SQL: whether an erasure has rewritten the body of a notification `n`. In this case, the partner's response must not
 * be stored: its request may have been sent before the erasure, and the response may repeat the erased data.
 */
const IS_ERASED = `strpos(n.body, '"${ERASED_ID}') > 0 AS is_erased`;

/**
 * SQL: the positions in `done` of the notifications whose bodies an erasure has rewritten. For most notifications, the
 * update in `marked` reads the current body. The other notifications are locked here, so that their current bodies are
 * read, too.
 * @param unmarked the SQL condition of the rows that `marked` leaves out
 */
const ERASED_ONES = (unmarked: string): string => `others AS MATERIALIZED (
     SELECT other.* FROM done CROSS JOIN LATERAL (
       SELECT n.position, ${IS_ERASED} FROM notifications n WHERE n.position = done.position
       OFFSET 0 FOR NO KEY UPDATE OF n) other
     WHERE (${unmarked}) AND (done.excerpt IS NOT NULL OR done.earlier IS NOT NULL)),
   erased AS MATERIALIZED (
     SELECT position FROM marked WHERE is_erased UNION ALL SELECT position FROM others WHERE is_erased)`;

/**
 * SQL: inserts a row for each HTTP request of an attempt. The last request has the outcome of the attempt, and
 * `earlier` contains the requests before it.
 * @param outcome the SQL expressions for the HTTP status, the failure and the reason of the last request
 */
const LOGGED = (outcome: string): string => `INSERT INTO notification_attempts
       (notification_position, subscription_id, at, duration_ms, trigger, http_status, failure, reason, excerpt)
     SELECT position, subscription_id, earlier.at, earlier.duration_ms, trigger, earlier.http_status, earlier.failure,
       earlier.reason, CASE WHEN position NOT IN (SELECT position FROM erased) THEN earlier.excerpt END
     FROM done CROSS JOIN LATERAL jsonb_to_recordset(done.earlier::jsonb) AS earlier
       (at timestamptz, duration_ms int, http_status int, failure text, reason text, excerpt text)
     WHERE done.earlier IS NOT NULL
     UNION ALL
     SELECT position, subscription_id, at, duration_ms, CASE WHEN earlier IS NULL THEN trigger ELSE 'RENEWED' END,
       ${outcome}, CASE WHEN position NOT IN (SELECT position FROM erased) THEN excerpt END
     FROM done`;

/**
 * Records deliveries. $1: subscriptions; $2: positions; $3: tokens; $4: triggers; $5: bulk jobs; $6: whether the
 * request was sent while the partner was DOWN; $7: start times; $8: durations in milliseconds; $9: excerpts; $10:
 * earlier HTTP requests as JSON; $11: whether other attempts were waiting for a send time of the partner. A 200 to a
 * request that was sent while the partner was DOWN makes the partner UP. A 200 to a suspected event (`SUSPECT_AFTER`)
 * proves that the partner was down for all events, so the failures of the partner's other events are no longer counted.
 * Returns the subscriptions for which the next event of a booking can now be claimed.
 */
export const RECORD_DELIVERED = prepared(
  'delivery-record-delivered',
  `WITH done AS (
     DELETE FROM deliveries d
     USING unnest(${unestimated('$1::uuid[]')}, $2::bigint[], $3::bigint[], $4::text[], $5::uuid[], $6::boolean[], $7::timestamptz[],
       $8::int[], $9::text[], $10::text[], $11::boolean[])
       AS o (subscription_id, position, token, trigger, job_id, while_down, at, duration_ms, excerpt, earlier, others_wait)
     WHERE ${expectingFew('o.position')} AND d.subscription_id = o.subscription_id AND d.notification_position = o.position AND d.lease_token = o.token
     RETURNING o.*, d.booking_code, d.event_sequence, d.failures),
   marked AS (
     UPDATE notifications n
     SET state = 'DELIVERED', retry = NULL, failure = NULL, failure_reason = NULL, http_status = NULL,
       queued_datetime = NULL, resolved_datetime = NULL,
       delivered_datetime = done.at + make_interval(secs => done.duration_ms / 1000.0)
     FROM done WHERE n.position = done.position AND done.trigger <> 'REPLAY'
     RETURNING n.position, ${IS_ERASED}),
   ${ERASED_ONES("done.trigger = 'REPLAY'")},
   logged AS (${LOGGED('200, NULL, NULL')}),
   risen AS (${RISE}),
   unsuspected AS (
     UPDATE deliveries d SET failures = 0
     FROM (SELECT DISTINCT subscription_id FROM done WHERE failures >= ${SUSPECT_AFTER}) cleared
     WHERE d.subscription_id = cleared.subscription_id AND d.failures > 0 AND ${FREE}
       AND d.notification_position <> ALL (SELECT position FROM done)),
   items AS (${ITEMS('DELIVERED')}),
   parts AS (
     UPDATE job_parts p
     SET delivered = p.delivered + ended.count, alike = 0,
       state = CASE p.state WHEN 'TRYING' THEN 'OPEN' ELSE p.state END
     FROM (SELECT job_id, subscription_id, count(*)::int AS count FROM items GROUP BY 1, 2 ORDER BY 1, 2) ended
     WHERE p.job_id = ended.job_id AND p.subscription_id = ended.subscription_id)
   SELECT DISTINCT done.subscription_id FROM done WHERE EXISTS (
     SELECT FROM deliveries later
     WHERE later.subscription_id = done.subscription_id AND later.booking_code = done.booking_code
       AND later.event_sequence > done.event_sequence OFFSET 0)`,
  acrossAccounts.workers,
);

/**
 * The SQL expression for the wait before the next probe of a subscription `s`, after `step` probes. A wait that the
 * partner has asked for with `Retry-After` takes precedence.
 */
const WAIT = (step: string) =>
  `make_interval(secs => coalesce(turn.retry_after_s,
     ($13::float8[])[least(${step}, cardinality($13::float8[]))] * turn.stretch))`;
const FALLS = `turn.fails AND s.health = 'UP'`;
const WAS_PROBED = `s.health = 'DOWN' AND s.probe_token = turn.probe_token`;
/** The SQL condition that a "busy" response starts a pause of deliveries to the partner, or extends the current one. */
const CLOSES_WALL = `(turn.is_busy AND (${isOver('s.paused_from', 's.paused_until')} OR turn.wall_until > s.paused_until))`;
/**
 * The SQL condition that a "busy" response is new information, because its request was sent after the end of the last
 * pause. The responses to earlier requests are expected to be "busy" as well.
 */
const IS_NEWS = `(turn.is_busy AND (s.paused_from IS NULL OR s.paused_from > statement_timestamp() OR turn.began >= s.paused_until))`;

/**
 * The SQL expression for the number of consecutive failures with the same status in a part `p` of a bulk job, including
 * those in `ended`.
 */
const ALIKE_NOW = `CASE WHEN ended.status IS NULL THEN 0
  WHEN p.alike_status = ended.status THEN p.alike + ended.count ELSE ended.count END`;
const STOPS = `(ended.failure IS NOT NULL OR ${ALIKE_NOW} >= ${ALIKE})`;

/**
 * Records failures. $1 to $10: as for deliveries; $11: AUTO or MANUAL retry; $12: further values as JSON: failure,
 * http_status, probe, partner_level, reason, stretch, busy, retry_after_s, good, partner_url; $13: RETRY_SCHEDULE_S.
 * With AUTO, the delivery is kept, and the partner goes DOWN or, if it is busy, gets a lower pace. With MANUAL, the
 * delivery ends. A replayed notification that fails stays delivered. An item of a bulk job for a busy partner is sent
 * again as part of the job. A response from an address that the partner no longer uses does not change the partner's
 * state.
 *
 * If an UP partner answers 500 to an event that has already failed three times in a row, the partner has answered 200
 * to a different event in the meantime. The event itself is then at fault, and an operator decides about it.
 */
export const RECORD_FAILED = prepared(
  'delivery-record-failed',
  `WITH o AS MATERIALIZED (
     SELECT o.*, answer.failure, answer.http_status, answer.probe, answer.partner_level, answer.reason, answer.stretch, answer.busy,
       answer.retry_after_s, answer.good, answer.partner_url
     FROM unnest(${unestimated('$1::uuid[]')}, $2::bigint[], $3::bigint[], $4::text[], $5::uuid[], $6::boolean[], $7::timestamptz[],
       $8::int[], $9::text[], $10::text[], $11::text[], $12::text[])
       AS o (subscription_id, position, token, trigger, job_id, while_down, at, duration_ms, excerpt, earlier, asked_retry, answer)
       CROSS JOIN LATERAL jsonb_to_record(o.answer::jsonb) AS answer
         (failure text, http_status int, probe boolean, partner_level boolean, reason text, stretch float8, busy boolean,
          retry_after_s float8, good int, partner_url text)),
   judged AS MATERIALIZED (
     SELECT o.*, o.asked_retry = 'AUTO' AND NOT o.busy AND o.failure = 'server_error' AND EXISTS (
         SELECT FROM deliveries d JOIN subscriptions s ON s.id = d.subscription_id
         WHERE d.subscription_id = o.subscription_id AND d.notification_position = o.position
           AND d.failures >= ${SUSPECT_AFTER} AND s.health = 'UP' OFFSET 0) AS is_alone
     FROM o),
   verdict AS MATERIALIZED (
     SELECT subscription_id, position, token, trigger, job_id, while_down, at, duration_ms, excerpt, earlier, failure,
       http_status, probe, partner_level AND NOT is_alone AS partner_level, stretch, busy, retry_after_s, good,
       partner_url, CASE WHEN is_alone THEN 'MANUAL' ELSE asked_retry END AS retry,
       CASE WHEN is_alone THEN 'ONLY_THIS_EVENT' ELSE reason END AS reason,
       busy AND asked_retry = 'AUTO' AND job_id IS NOT NULL AS put_back
     FROM judged),
   kept AS (
     UPDATE deliveries d SET lease_token = NULL, leased_until = NULL,
       trigger = CASE WHEN o.put_back THEN d.trigger ELSE 'AUTO' END, job_id = CASE WHEN o.put_back THEN d.job_id END,
       failures = d.failures + CASE WHEN o.busy THEN 0 ELSE 1 END
     FROM verdict o WHERE ${expectingFew('o.position')} AND o.retry = 'AUTO' AND (o.trigger <> 'REPLAY' OR o.put_back)
       AND d.subscription_id = o.subscription_id AND d.notification_position = o.position AND d.lease_token = o.token
     RETURNING o.*, d.booking_code, d.event_sequence),
   ended AS (
     DELETE FROM deliveries d USING verdict o
     WHERE ${expectingFew('o.position')} AND (o.retry = 'MANUAL' OR o.trigger = 'REPLAY' AND NOT o.put_back)
       AND d.subscription_id = o.subscription_id AND d.notification_position = o.position AND d.lease_token = o.token
     RETURNING o.*, d.booking_code, d.event_sequence),
   done AS MATERIALIZED (SELECT * FROM kept UNION ALL SELECT * FROM ended),
   marked AS (
     UPDATE notifications n
     SET state = 'ERROR_QUEUE', retry = done.retry, failure = done.failure, failure_reason = done.reason,
       http_status = done.http_status, queued_datetime = coalesce(n.queued_datetime, statement_timestamp()),
       resolved_datetime = NULL
     FROM done WHERE n.position = done.position AND done.trigger <> 'REPLAY' AND NOT done.put_back
     RETURNING n.position, ${IS_ERASED}),
   ${ERASED_ONES("done.trigger = 'REPLAY' OR done.put_back")},
   logged AS (${LOGGED('http_status, failure, reason')}),
   turn AS MATERIALIZED (
     SELECT subscription_id, partner_url, coalesce(bool_or(retry = 'AUTO' AND NOT busy), false) AS fails, bool_or(busy) AS is_busy,
       max(stretch) AS stretch, max(retry_after_s) AS retry_after_s, max(token) FILTER (WHERE probe) AS probe_token,
       statement_timestamp() + make_interval(secs => max(retry_after_s) FILTER (WHERE busy)) AS wall_until,
       max(statement_timestamp() - make_interval(secs => duration_ms / 1000.0)) FILTER (WHERE busy) AS began, max(good) AS good
     FROM done GROUP BY subscription_id, partner_url),
   partner AS MATERIALIZED (
     SELECT turn.*, ${FALLS} AS falls, coalesce(${WAS_PROBED}, false) AS was_probed, ${CLOSES_WALL} AS closes_wall,
       ${IS_NEWS} AS is_news, CASE WHEN ${IS_NEWS} THEN ${CEILING('turn.good')} END AS ceiling
     FROM turn JOIN subscriptions s ON s.id = turn.subscription_id AND s.partner_url = turn.partner_url
     WHERE turn.fails OR turn.is_busy OR turn.probe_token IS NOT NULL
     ORDER BY s.id FOR NO KEY UPDATE OF s),
   turned AS (
     UPDATE subscriptions s
     SET health = CASE WHEN turn.fails THEN 'DOWN' ELSE s.health END,
       health_changed_at = CASE WHEN falls THEN statement_timestamp() ELSE s.health_changed_at END,
       probe_step = CASE WHEN falls THEN 0 WHEN was_probed THEN s.probe_step + 1 ELSE s.probe_step END,
       probe_token = CASE WHEN falls THEN NULL ELSE s.probe_token END,
       probe_from = CASE WHEN falls OR was_probed THEN statement_timestamp() ELSE s.probe_from END,
       next_probe_at = CASE WHEN falls THEN statement_timestamp() + ${WAIT('1')}
         WHEN was_probed THEN statement_timestamp() + ${WAIT('s.probe_step + 2')} ELSE s.next_probe_at END,
       paused_from = CASE WHEN closes_wall THEN statement_timestamp() ELSE s.paused_from END,
       paused_until = CASE WHEN closes_wall THEN turn.wall_until ELSE s.paused_until END,
       pace = CASE WHEN is_news THEN ceiling / 2 ELSE s.pace END,
       pace_ceiling = CASE WHEN is_news THEN ceiling ELSE s.pace_ceiling END,
       pace_confirmed = CASE WHEN is_news THEN ${CONFIRMED('ceiling')} ELSE s.pace_confirmed END,
       pace_good = CASE WHEN is_news THEN ${INDEBTED} ELSE s.pace_good END,
       paced_to = CASE WHEN closes_wall THEN NULL ELSE s.paced_to END,
       busy_since = CASE WHEN turn.is_busy THEN coalesce(s.busy_since, statement_timestamp()) ELSE s.busy_since END
     FROM partner turn WHERE s.id = turn.subscription_id),
   items AS (${ITEMS('FAILED', 'done.put_back')}, done.partner_level, done.failure, done.http_status),
   parts AS (
     UPDATE job_parts p
     SET failed = p.failed + ended.count, alike_status = ended.status, alike = ${ALIKE_NOW},
       state = CASE WHEN ${STOPS} THEN 'PAUSED' ELSE p.state END,
       paused_because = CASE WHEN ${STOPS} THEN coalesce(ended.failure, ended.any_failure) ELSE p.paused_because END
     FROM (
       SELECT job_id, subscription_id, count(*)::int AS count, min(failure) FILTER (WHERE partner_level) AS failure,
         min(failure) AS any_failure, CASE WHEN count(DISTINCT http_status) = 1 THEN min(http_status) END AS status
       FROM items GROUP BY 1, 2 ORDER BY 1, 2) ended
     WHERE p.job_id = ended.job_id AND p.subscription_id = ended.subscription_id)
   SELECT DISTINCT done.subscription_id FROM done WHERE (done.retry = 'MANUAL' OR done.trigger = 'REPLAY') AND EXISTS (
     SELECT FROM deliveries later
     WHERE later.subscription_id = done.subscription_id AND later.booking_code = done.booking_code
       AND later.event_sequence > done.event_sequence OFFSET 0)`,
  acrossAccounts.workers,
);
