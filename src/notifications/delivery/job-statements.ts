/**
 * The steps of a bulk job. Each step is one statement that locks the job's row. Therefore, only one process at a time
 * runs a step, and no step is still running when an operator's action on the job is answered.
 */
import { acrossAccounts, expectingFew, unestimated, prepared } from '../../platform/database/database.js';
import { FREE } from './delivery-lease.js';
import { PROBE_IS_DUE } from './delivery-statements.js';

/**
 * WINDOW is the maximum number of items that one step makes due for one partner. PARTNERS is the maximum number of
 * partners in one step.
 */
const WINDOW = 128;
const PARTNERS = 64;
const RESOLVE_BATCH = 500;

/**
 * SQL: the waiting items of job $1 in the order of the index, for one partner or after a position.
 *
 * With an equality on the job, the planner would expect hardly any items, because its statistics cover only older jobs.
 * It would then sort up to a million rows. Two bounds and CASE prevent this. A small batch is joined by its own job
 * column. With $1, PostgreSQL would compare each item of the job with the whole batch.
 */
const WAITING_OF = (subscription: string) => `outcome = 'WAITING'
  AND (job_id, subscription_id, notification_position) > ($1, ${subscription}, 0)
  AND (job_id, subscription_id) <= ($1, ${subscription}) ORDER BY job_id, subscription_id, notification_position`;
const WAITING_AFTER = (position: string) => `CASE outcome WHEN 'WAITING' THEN true END
  AND (job_id, notification_position) > ($1, ${position}) AND job_id <= $1 ORDER BY job_id, notification_position`;

const OBLIGATION = `d.subscription_id = due.subscription_id AND d.notification_position = due.position`;

const JOB = `job AS MATERIALIZED (
  SELECT id, kind, reason FROM jobs WHERE id = $1 AND state = 'RUNNING' FOR UPDATE SKIP LOCKED)`;

/**
 * Selects the oldest items for the partners that may get more items. Items wait while their partner is DOWN, SUSPENDED
 * or unverified. Items of a deleted partner are selected so that they can be skipped. A DOWN partner without any other
 * notification gets one item as its next probe, because its recovery would otherwise never be noticed.
 */
const DUE = `part AS MATERIALIZED (
    SELECT p.job_id, p.subscription_id, s.deleted_datetime IS NOT NULL AS gone,
      CASE WHEN p.state = 'TRYING' OR s.health = 'DOWN' THEN 1 ELSE ${WINDOW} END AS capacity
    FROM job JOIN job_parts p ON p.job_id = job.id JOIN subscriptions s ON s.id = p.subscription_id
      CROSS JOIN LATERAL (SELECT count(*) AS handed_over FROM deliveries d
        WHERE d.job_id = job.id AND d.subscription_id = p.subscription_id) pending
    WHERE p.waiting > 0 AND (s.deleted_datetime IS NOT NULL
      OR s.state = 'ACTIVE' AND s.health = 'UP' AND CASE p.state
        WHEN 'TRYING' THEN pending.handed_over = 0 AND p.sent = p.delivered + p.failed
        WHEN 'OPEN' THEN pending.handed_over <= ${WINDOW / 2} ELSE false END
      OR s.state = 'ACTIVE' AND s.health = 'DOWN' AND p.state <> 'PAUSED' AND p.sent = p.delivered + p.failed
        AND ${PROBE_IS_DUE} AND NOT EXISTS (SELECT FROM deliveries d WHERE d.subscription_id = s.id))
    ORDER BY pending.handed_over LIMIT ${PARTNERS}),
  next AS MATERIALIZED (
    SELECT part.job_id, i.notification_position AS position, part.subscription_id, part.gone
    FROM part CROSS JOIN LATERAL (
      SELECT notification_position FROM job_items WHERE ${WAITING_OF('part.subscription_id')} LIMIT part.capacity) i),
  due AS MATERIALIZED (
    SELECT next.*, n.state, n.booking_code, n.event_sequence
    FROM next JOIN notifications n ON n.position = next.position FOR UPDATE OF n SKIP LOCKED)`;

/** SQL: skips the items whose notification was deleted, or is no longer in one of the given states. */
const SKIP = (...states: string[]) => `skipped AS (
    UPDATE job_items i SET outcome = 'SKIPPED'
    FROM next LEFT JOIN notifications n ON n.position = next.position
    WHERE ${expectingFew('next.position')} AND i.job_id = next.job_id AND i.notification_position = next.position
      AND i.outcome = 'WAITING' AND (next.gone OR (n.state = ANY ('{${states.join()}}')) IS NOT TRUE)
    RETURNING i.subscription_id),
  counted AS (
    UPDATE job_parts p SET waiting = p.waiting - s.count, skipped = p.skipped + s.count
    FROM (SELECT subscription_id, count(*)::int AS count FROM skipped GROUP BY subscription_id) s
    WHERE p.job_id = $1 AND p.subscription_id = s.subscription_id)`;

const HANDED_OVER = `SELECT (SELECT count(*) FROM skipped) AS skipped,
    ARRAY(SELECT DISTINCT subscription_id FROM pending) AS woken`;

export interface HandedOver {
  skipped: number;
  /** The ids of the partners for which a step of a bulk job made notifications due. */
  woken: string[];
}

/**
 * Makes the next resends of job $1 due. Their notifications stay in the error queue, unchanged, until their attempts
 * are recorded. A row that a probe, an operator or another job has locked is skipped for now.
 */
export const HAND_OVER_RESENDS = prepared(
  'job-hand-over-resends',
  `WITH ${JOB}, ${DUE}, ${SKIP('ERROR_QUEUE')},
   pending AS (
     INSERT INTO deliveries AS d (subscription_id, notification_position, booking_code, event_sequence, trigger, job_id)
     SELECT due.subscription_id, due.position, due.booking_code, due.event_sequence, 'MANUAL', $1 FROM due
     WHERE due.state = 'ERROR_QUEUE' AND NOT due.gone AND NOT EXISTS (
       SELECT FROM deliveries d WHERE ${OBLIGATION} AND (d.trigger <> 'AUTO' OR NOT ${FREE}))
     ORDER BY due.position
     ON CONFLICT ON CONSTRAINT deliveries_pk DO UPDATE
     SET trigger = 'MANUAL', job_id = excluded.job_id, lease_token = NULL, leased_until = NULL,
       due_datetime = excluded.due_datetime
     WHERE d.trigger = 'AUTO' AND ${FREE}
     RETURNING d.subscription_id)
   ${HANDED_OVER}`,
  acrossAccounts.workers,
);

/**
 * Makes the next replays of job $1 due: one notification per booking at a time, when no other notification of the
 * booking is due. A notification that a partner named by its id may be in the error queue. Such a notification is
 * resent instead of replayed.
 */
export const HAND_OVER_REPLAYS = prepared(
  'job-hand-over-replays',
  `WITH ${JOB}, ${DUE}, ${SKIP('DELIVERED', 'ERROR_QUEUE')},
   pending AS (
     INSERT INTO deliveries AS d (subscription_id, notification_position, booking_code, event_sequence, trigger, job_id)
     SELECT DISTINCT ON (due.booking_code)
       due.subscription_id, due.position, due.booking_code, due.event_sequence,
       CASE due.state WHEN 'DELIVERED' THEN 'REPLAY' ELSE 'MANUAL' END, $1 FROM due
     WHERE due.state IN ('DELIVERED', 'ERROR_QUEUE') AND NOT due.gone AND NOT EXISTS (
       SELECT FROM deliveries d WHERE d.subscription_id = due.subscription_id AND d.booking_code = due.booking_code)
     ORDER BY due.booking_code, due.position
     ON CONFLICT ON CONSTRAINT deliveries_pk DO NOTHING
     RETURNING d.subscription_id)
   ${HANDED_OVER}`,
  acrossAccounts.workers,
);

export interface Resolved {
  /** The position of the last notification that was checked; null if none was checked. */
  last: number | null;
  more: boolean;
}

/**
 * Resolves waiting items of the job. $1: the job; $2: the position after which to search. Items with a running attempt
 * are excluded, because the outcome of the attempt must be recorded first.
 */
export const RESOLVE_ITEMS = prepared(
  'job-resolve-items',
  `WITH ${JOB},
   next AS MATERIALIZED (
     SELECT job_id, notification_position AS position, subscription_id FROM job_items
     WHERE EXISTS (SELECT FROM job) AND ${WAITING_AFTER('$2')} LIMIT ${RESOLVE_BATCH}),
   due AS MATERIALIZED (
     SELECT next.*, n.state FROM next JOIN notifications n ON n.position = next.position
     WHERE NOT EXISTS (
       SELECT FROM deliveries d WHERE d.subscription_id = next.subscription_id
         AND d.notification_position = next.position AND NOT ${FREE})
     FOR UPDATE OF n SKIP LOCKED),
   ended AS (
     DELETE FROM deliveries d USING due
     WHERE ${OBLIGATION} AND due.state = 'ERROR_QUEUE' AND ${FREE} RETURNING d.notification_position),
   settled AS (
     UPDATE notifications n SET state = 'RESOLVED', retry = NULL, queued_datetime = NULL,
       resolved_datetime = statement_timestamp(), reason = job.reason
     FROM job, due WHERE n.position = due.position AND due.state = 'ERROR_QUEUE'
       AND (due.position IN (SELECT notification_position FROM ended)
         OR NOT EXISTS (SELECT FROM deliveries d WHERE ${OBLIGATION}))
     RETURNING due.job_id, n.position),
   outcome AS (
     SELECT job_id, position, 'RESOLVED' AS outcome FROM settled
     UNION ALL
     SELECT next.job_id, next.position, 'SKIPPED' FROM next LEFT JOIN notifications n ON n.position = next.position
     WHERE n.state IS DISTINCT FROM 'ERROR_QUEUE'),
   items AS (
     UPDATE job_items i SET outcome = outcome.outcome
     FROM outcome WHERE ${expectingFew('outcome.position')} AND i.job_id = outcome.job_id
       AND i.notification_position = outcome.position AND i.outcome = 'WAITING'
     RETURNING i.subscription_id, i.outcome),
   counted AS (
     UPDATE job_parts p
     SET waiting = p.waiting - s.count, resolved = p.resolved + s.resolved, skipped = p.skipped + s.count - s.resolved
     FROM (SELECT subscription_id, count(*)::int AS count, (count(*) FILTER (WHERE outcome = 'RESOLVED'))::int AS resolved
       FROM items GROUP BY subscription_id) s
     WHERE p.job_id = $1 AND p.subscription_id = s.subscription_id)
   SELECT (SELECT max(position) FROM next) AS last, (SELECT count(*) FROM next)::int = ${RESOLVE_BATCH} AS more`,
  acrossAccounts.workers,
);

/**
 * Ends the items of job $1 whose delivery is missing. A delivery is missing if the partner was deleted, or if a process
 * was killed during an attempt and the notification was then delivered or resolved outside the job.
 */
export const END_ORPHANS = prepared(
  'job-end-orphans',
  `WITH ${JOB},
   orphan AS (
     UPDATE job_items i SET outcome = CASE WHEN s.deleted_datetime IS NULL THEN 'SKIPPED' ELSE 'FAILED' END
     FROM job JOIN job_parts p ON p.job_id = job.id AND p.sent > p.delivered + p.failed
       JOIN subscriptions s ON s.id = p.subscription_id
     WHERE i.job_id = job.id AND i.subscription_id = p.subscription_id AND i.outcome = 'SENT' AND NOT EXISTS (
       SELECT FROM deliveries d WHERE d.subscription_id = i.subscription_id
         AND d.notification_position = i.notification_position AND d.job_id = i.job_id OFFSET 0)
     RETURNING i.subscription_id, i.outcome)
   UPDATE job_parts p SET sent = p.sent - o.skipped, skipped = p.skipped + o.skipped, failed = p.failed + o.count - o.skipped
   FROM (
     SELECT subscription_id, count(*)::int AS count, (count(*) FILTER (WHERE outcome = 'SKIPPED'))::int AS skipped
     FROM orphan GROUP BY subscription_id) o
   WHERE p.job_id = $1 AND p.subscription_id = o.subscription_id`,
  acrossAccounts.workers,
);

/** Ends job $1 when each item has an outcome, and pauses it when only items of failed partners remain. */
export const SETTLE = prepared(
  'job-settle',
  `WITH job AS MATERIALIZED (
     SELECT id FROM jobs WHERE id = $1 AND state IN ('RUNNING', 'PAUSED') AND matched IS NOT NULL FOR UPDATE SKIP LOCKED),
   left_over AS (
     SELECT count(*) AS parts, count(*) FILTER (WHERE p.state = 'PAUSED' AND p.sent = p.delivered + p.failed) AS paused,
       string_agg(DISTINCT p.paused_because, ', ') FILTER (WHERE p.state = 'PAUSED') AS because
     FROM job JOIN job_parts p ON p.job_id = job.id WHERE p.waiting > 0 OR p.sent > p.delivered + p.failed)
   UPDATE jobs j SET state = CASE parts WHEN 0 THEN 'DONE' ELSE 'PAUSED' END,
     paused_because = CASE parts WHEN 0 THEN NULL ELSE because END
   FROM job, left_over
   WHERE j.id = job.id AND (parts = 0 OR j.state = 'RUNNING' AND parts = paused)`,
  acrossAccounts.workers,
);

/**
 * SQL: removes the deliveries in `dropped` (job_id, subscription_id, position, retry) from their jobs. An automatic
 * retry stays due outside the job. An item is WAITING again if its started attempt was lost. `begun`: SQL for the items
 * that are started.
 */
const TAKEN_BACK = (begun: string) => `
   returned AS (
     UPDATE deliveries d SET trigger = 'AUTO', job_id = NULL, lease_token = NULL, leased_until = NULL
     FROM dropped WHERE d.subscription_id = dropped.subscription_id AND d.notification_position = dropped.position
       AND dropped.retry = 'AUTO'),
   ended AS (
     DELETE FROM deliveries d USING dropped
     WHERE d.subscription_id = dropped.subscription_id AND d.notification_position = dropped.position
       AND dropped.retry IS DISTINCT FROM 'AUTO'),
   unsent AS (
     UPDATE job_items i SET outcome = 'WAITING'
     FROM dropped WHERE i.job_id = dropped.job_id AND i.notification_position = dropped.position AND i.outcome = 'SENT'
     RETURNING i.job_id, i.subscription_id),
   counted AS (
     UPDATE job_parts p SET waiting = p.waiting - m.count, sent = p.sent + m.count
     FROM (
       SELECT job_id, subscription_id, sum(change)::int AS count FROM (
         ${begun} SELECT job_id, subscription_id, -1 FROM unsent) moved (job_id, subscription_id, change)
       GROUP BY job_id, subscription_id) m
     WHERE p.job_id = m.job_id AND p.subscription_id = m.subscription_id)`;

/** Removes from job $1 the due notifications that no worker has claimed, after an operator has stopped the job. */
export const WITHDRAW = prepared(
  'job-withdraw',
  `WITH free AS MATERIALIZED (
     SELECT d.job_id, d.subscription_id, d.notification_position AS position FROM deliveries d
     WHERE d.job_id = $1 AND ${FREE} FOR UPDATE SKIP LOCKED),
   dropped AS MATERIALIZED (
     SELECT free.*, n.retry FROM free LEFT JOIN notifications n ON n.position = free.position),
   ${TAKEN_BACK('')}
   SELECT DISTINCT subscription_id FROM dropped`,
  acrossAccounts.workers,
);

/** Resumes the parts of job $1. Each part first sends one notification, in case the cause of the pause still exists. */
export const TRY_AGAIN = prepared(
  'job-try-again',
  `UPDATE job_parts SET state = 'TRYING', paused_because = NULL, alike = 0 WHERE job_id = $1 AND state <> 'TRYING'`,
);

/**
 * Marks as sent the notifications of bulk jobs that this process is about to send. $1: jobs; $2: subscriptions; $3:
 * positions; $4: tokens. Returns those that may be sent, and removes all others from `deliveries`.
 */
export const BEGIN_ITEMS = prepared(
  'job-begin-items',
  `WITH o AS MATERIALIZED (
     SELECT * FROM unnest(${unestimated('$1::uuid[]')}, $2::uuid[], $3::bigint[], $4::bigint[])
       AS o (job_id, subscription_id, position, token)),
   part AS MATERIALIZED (
     SELECT p.* FROM job_parts p WHERE (p.job_id, p.subscription_id) IN (SELECT job_id, subscription_id FROM o)
     ORDER BY p.job_id, p.subscription_id FOR UPDATE),
   held AS MATERIALIZED (
     SELECT o.job_id, o.subscription_id, o.position, n.retry, i.outcome, part.state = 'OPEN' AS open,
       part.sent - part.delivered - part.failed AS under_way,
       row_number() OVER (PARTITION BY o.job_id, o.subscription_id ORDER BY o.position) AS turn,
       j.state = 'RUNNING' AND part.state <> 'PAUSED' AND i.outcome IN ('WAITING', 'SENT')
         AND s.state = 'ACTIVE' AND (s.health = 'UP' OR s.probe_token = o.token) AND s.deleted_datetime IS NULL
         AND n.state = CASE d.trigger WHEN 'REPLAY' THEN 'DELIVERED' ELSE 'ERROR_QUEUE' END AS may_begin
     FROM o JOIN deliveries d ON d.subscription_id = o.subscription_id AND d.notification_position = o.position
         AND d.lease_token = o.token AND d.job_id = o.job_id
       JOIN notifications n ON n.position = o.position
       JOIN jobs j ON j.id = o.job_id
       JOIN part ON part.job_id = o.job_id AND part.subscription_id = o.subscription_id
       JOIN job_items i ON i.job_id = o.job_id AND i.notification_position = o.position
       JOIN subscriptions s ON s.id = o.subscription_id),
   allowed AS MATERIALIZED (
     SELECT * FROM held WHERE may_begin AND (open OR outcome = 'SENT' OR turn = 1 AND under_way = 0)),
   begun AS (
     UPDATE job_items i SET outcome = 'SENT'
     FROM allowed WHERE i.job_id = allowed.job_id AND i.notification_position = allowed.position AND i.outcome = 'WAITING'
     RETURNING i.job_id, i.subscription_id),
   dropped AS MATERIALIZED (
     SELECT job_id, subscription_id, position, retry FROM held
     WHERE (job_id, position) NOT IN (SELECT job_id, position FROM allowed)),
   ${TAKEN_BACK('SELECT job_id, subscription_id, 1 FROM begun UNION ALL')}
   SELECT subscription_id, position FROM allowed`,
  acrossAccounts.workers,
);
