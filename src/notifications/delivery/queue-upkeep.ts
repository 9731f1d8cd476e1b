import { Injectable } from '@nestjs/common';
import { NotificationsConfig } from '../notifications.config.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { ClockWatch } from './clock-watch.js';
import { FREE } from './delivery-lease.js';

const BATCH = 1000;
const ROUND_MS = 2_000;
/** The failure reason of given-up notifications whose last failure has no reason. */
const GIVEN_UP = 'GIVEN_UP';

/**
 * Moves notifications for DOWN partners into the error queue. These notifications were created just before the partner
 * went DOWN, or by transactions that did not yet see this change.
 */
const QUEUE_PENDING = prepared(
  'queue-pending-of-down',
  `WITH picked AS MATERIALIZED (
     SELECT pending.* FROM subscriptions s CROSS JOIN LATERAL (
       SELECT d.subscription_id, d.notification_position FROM deliveries d
       WHERE d.subscription_id = s.id AND d.trigger <> 'AUTO' AND d.trigger = 'FIRST' AND ${FREE}
       ORDER BY d.notification_position LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) pending
     WHERE s.health = 'DOWN' AND s.deleted_datetime IS NULL LIMIT ${BATCH}),
   marked AS (
     UPDATE notifications n SET state = 'ERROR_QUEUE', retry = 'AUTO', queued_datetime = statement_timestamp()
     FROM picked WHERE n.position = picked.notification_position AND n.state = 'PENDING')
   UPDATE deliveries d SET trigger = 'AUTO' FROM picked
   WHERE d.subscription_id = picked.subscription_id AND d.notification_position = picked.notification_position`,
  acrossAccounts.workers,
);

/** SQL: the time since which a subscription `s` has been active (that is, not suspended) for a total of $1 hours. */
export const COUNTED_FROM = `(
  SELECT upper(active) - make_interval(secs => $1::float8 * 3600 - after_s) FROM (
    SELECT active, extract(epoch FROM upper(active) - lower(active)) AS length_s,
      coalesce(sum(extract(epoch FROM upper(active) - lower(active))) OVER later, 0)::float8 AS after_s
    FROM unnest(tstzmultirange(tstzrange('epoch', statement_timestamp())) - s.suspensions) AS active
    WINDOW later AS (ORDER BY lower(active) DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) span
  WHERE after_s <= $1::float8 * 3600 AND after_s + length_s > $1::float8 * 3600)`;

/**
 * Gives up old notifications, which then wait for an operator. $1: the age in hours, without the periods in which the
 * partner was suspended. While a partner is suspended, its notifications are not given up. After the suspension, the
 * partner gets all of them.
 */
const GIVE_UP = prepared(
  'queue-give-up',
  `WITH old AS MATERIALIZED (
     SELECT queued.* FROM (
       SELECT s.id, ${COUNTED_FROM} AS since FROM subscriptions s
       WHERE s.health = 'DOWN' AND s.state = 'ACTIVE' AND s.deleted_datetime IS NULL) partner
     CROSS JOIN LATERAL (
       SELECT n.position, n.subscription_id FROM notifications n
       WHERE n.subscription_id = partner.id AND n.retry = 'AUTO' AND n.queued_datetime < partner.since
       ORDER BY n.queued_datetime LIMIT ${BATCH}) queued
     LIMIT ${BATCH}),
   ended AS (
     DELETE FROM deliveries d USING old
     WHERE d.subscription_id = old.subscription_id AND d.notification_position = old.position
       AND d.trigger = 'AUTO' AND ${FREE}
     RETURNING d.notification_position)
   UPDATE notifications n SET retry = 'MANUAL', failure_reason = coalesce(n.failure_reason, '${GIVEN_UP}')
   FROM ended WHERE n.position = ended.notification_position`,
  acrossAccounts.workers,
);

/**
 * Gives up notifications that have been due for $1 hours, if their partner has answered only "busy" in all this time.
 * Periods of suspension do not count.
 */
const GIVE_UP_BUSY = prepared(
  'queue-give-up-busy',
  `WITH old AS MATERIALIZED (
     SELECT waiting.* FROM (
       SELECT s.id, s.busy_since, ${COUNTED_FROM} AS since FROM subscriptions s
       WHERE s.busy_since IS NOT NULL AND s.health = 'UP' AND s.state = 'ACTIVE' AND s.deleted_datetime IS NULL) partner
     CROSS JOIN LATERAL (
       SELECT d.subscription_id, d.notification_position, d.due_datetime FROM deliveries d
       WHERE d.subscription_id = partner.id AND d.trigger IN ('FIRST', 'AUTO') AND ${FREE}
       ORDER BY d.notification_position LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) waiting
     WHERE partner.busy_since < partner.since AND waiting.due_datetime < partner.since LIMIT ${BATCH}),
   ended AS (
     DELETE FROM deliveries d USING old
     WHERE d.subscription_id = old.subscription_id AND d.notification_position = old.notification_position
     RETURNING d.notification_position)
   UPDATE notifications n
   SET state = 'ERROR_QUEUE', retry = 'MANUAL', failure_reason = coalesce(n.failure_reason, '${GIVEN_UP}'),
     queued_datetime = coalesce(n.queued_datetime, statement_timestamp())
   FROM ended WHERE n.position = ended.notification_position`,
  acrossAccounts.workers,
);

const RESOLVE_OWED = prepared(
  'queue-resolve-owed',
  `WITH picked AS MATERIALIZED (
     SELECT pending.* FROM subscriptions s CROSS JOIN LATERAL (
       SELECT d.subscription_id, d.notification_position FROM deliveries d
       WHERE d.subscription_id = s.id AND ${FREE}
       ORDER BY d.notification_position LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) pending
     WHERE s.deleted_datetime IS NOT NULL LIMIT ${BATCH}),
   ended AS (
     DELETE FROM deliveries d USING picked
     WHERE d.subscription_id = picked.subscription_id AND d.notification_position = picked.notification_position
     RETURNING d.notification_position)
   UPDATE notifications n
   SET state = 'RESOLVED', retry = NULL, queued_datetime = NULL, resolved_datetime = statement_timestamp()
   FROM ended WHERE n.position = ended.notification_position AND n.state <> 'DELIVERED'`,
  acrossAccounts.workers,
);

const RESOLVE_QUEUED = prepared(
  'queue-resolve-queued',
  `UPDATE notifications n
   SET state = 'RESOLVED', retry = NULL, queued_datetime = NULL, resolved_datetime = statement_timestamp()
   WHERE n.position IN (
     SELECT queued.position FROM subscriptions s CROSS JOIN LATERAL (
       SELECT q.position FROM notifications q
       WHERE q.subscription_id = s.id AND q.queued_datetime IS NOT NULL AND NOT EXISTS (
         SELECT FROM deliveries d WHERE d.subscription_id = s.id AND d.notification_position = q.position)
       ORDER BY q.position LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) queued
     WHERE s.deleted_datetime IS NOT NULL LIMIT ${BATCH})`,
  acrossAccounts.workers,
);

const CAUSE = `(c.subscription_id, c.retry, coalesce(c.failure, ''), coalesce(c.reason, ''), coalesce(c.http_status, 0))`;
/**
 * Merges the rows of each error-queue cause into a single row, if that saves many rows. The row of a cause without new
 * rows is not rewritten. Only one process at a time runs the statement.
 */
const FOLD_CAUSES = prepared(
  'queue-fold-causes',
  `WITH changed AS MATERIALIZED (
     SELECT ${CAUSE} AS cause, count(*) AS rows FROM error_queue_causes c GROUP BY 1 HAVING count(*) > 1),
   due AS MATERIALIZED (
     SELECT coalesce(sum(rows) - count(*), 0) >= 1000
       AND pg_try_advisory_xact_lock(hashtext('error_queue_causes')) AS yes FROM changed),
   folded AS (
     DELETE FROM error_queue_causes c USING due, changed WHERE due.yes AND ${CAUSE} = changed.cause RETURNING c.*)
   INSERT INTO error_queue_causes
   SELECT subscription_id, retry, failure, reason, http_status, sum(change)::int FROM folded
   GROUP BY subscription_id, retry, failure, reason, http_status HAVING sum(change) <> 0`,
);

/**
 * Changes queued notifications that no attempt changes: gives up old notifications, moves notifications for DOWN
 * partners into the error queue, and resolves the notifications for deleted subscriptions. The upkeep works in small
 * batches, one kind of change after the other, so that neither deliveries nor other changes wait for a large batch.
 */
@Injectable()
export class QueueUpkeep {
  constructor(
    private readonly config: NotificationsConfig,
    private readonly database: Database,
    private readonly clock: ClockWatch,
  ) {}

  /** Runs one round of the queue's upkeep, which takes at most a few seconds. */
  async run(): Promise<void> {
    const endAt = performance.now() + ROUND_MS;
    let wholeBatches: number;
    do {
      wholeBatches = 0;
      for (const [chore, ...values] of [
        [QUEUE_PENDING],
        [GIVE_UP, this.config.retryGiveUpH + this.clock.aheadH],
        [GIVE_UP_BUSY, this.config.retryGiveUpH + this.clock.aheadH],
        [RESOLVE_OWED],
        [RESOLVE_QUEUED],
      ] as const)
        if ((await this.database.execute(chore, values)) >= BATCH) wholeBatches += 1;
    } while (wholeBatches > 0 && performance.now() < endAt);
    await this.database.execute(FOLD_CAUSES);
  }
}
