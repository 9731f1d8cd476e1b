/**
 * The SQL statements of delivery.
 *
 * 1. A row of `deliveries` is a notification that has to be sent. It is created with the notification (translation.ts)
 *    or for an operator's resend. It is deleted when the outcome of the last attempt is recorded.
 * 2. A worker claims rows in one statement, which locks them with SKIP LOCKED and gives them a lease and a fencing
 *    token. A row that can be sent at once is claimed in the statement that creates it. While the lease is valid, no
 *    other worker claims the row. No transaction is open while the partner is called.
 * 3. An attempt may start only in the first part of the lease (`MAY_START_MS`) and is limited by the wait time. The
 *    attempt has therefore ended and been recorded before the lease expires.
 * 4. Every later write to the row checks the token. A worker that was paused until its lease expired writes nothing.
 * 5. If a process is killed, its leases expire within wait time + 20 s, and any worker claims the rows again.
 * 6. Only one row of a booking is leased at a time, and only the booking's first remaining row can be claimed, even as
 *    a probe or retry. A later event waits until the earlier event has been delivered or left to an operator. An
 *    operator's resend has priority; it waits only for a running attempt of its booking and for an operator's earlier
 *    resends.
 * 7. A claim sees the database as it was when the claim began. It therefore does not claim a row that has changed since
 *    then. An operator's resend, a retry or a repaired event may come before existing rows of its booking. Its row is
 *    claimed only if the claim can lock these existing rows and they are unchanged. The claim then updates them, so
 *    that a claim that began earlier cannot take them.
 * 8. A claim reads the state of the partners under a weak lock on their rows, in the same statement. A change that
 *    locks these rows is ordered before or after the claim. A suspension therefore sees a lease for every attempt that
 *    could still start, and waits until each lease is released, or its attempt has ended or is marked as begun.
 * 9. While a partner is DOWN, its rows are claimed only by `CLAIM_PROBES` and by a manual resend. All processes
 *    together send one probe at a time, because a claim of a probe postpones `next_probe_at`. The outcome of a probe
 *    changes it again only if no other probe was claimed since (`probe_token`).
 * 10. The rows of a partner that polls are claimed only by its polls (poll-statements.ts). For all other claims, the
 *     database keeps such a partner paused (migration poll-delivery).
 *
 * Never write to a row of `deliveries` without its token, unless its lease has expired or was never granted.
 */
import { acrossAccounts, expectingFew, prepared, unestimated } from '../../platform/database/database.js';
import type { NotifiedChange } from '../notified-change.js';
import { freeFor, hasExpired, LEASE, LEASE_END, LEASE_EXTRA_S, LEASE_S } from './delivery-lease.js';
import { IN_PACE, isOver, MAY_BE_ASKED, ONE_MORE, PACE } from './pace-statements.js';
import type { Trigger } from './delivery.entity.js';
import { PACED_S } from './partner-queue.js';

/**
 * The SQL condition that a delivery is an operator's resend of a single notification. Such a resend has priority over
 * other deliveries; resends by bulk jobs have no priority.
 */
const BY_OPERATOR = (row: string) => `(${row}.trigger = 'MANUAL' AND ${row}.job_id IS NULL)`;

/**
 * The SQL condition that the delivery `d` is next in its booking: no attempt of the booking is running, and no earlier
 * delivery is left. OFFSET forces one index look-up per row; a join would compare each row with all rows of its
 * partner.
 */
export const inTurn = (trust: readonly [number, number], seconds: string): string => `NOT EXISTS (
  SELECT FROM deliveries other
  WHERE other.subscription_id = d.subscription_id AND other.booking_code = d.booking_code
    AND other.notification_position <> d.notification_position
    AND (NOT ${hasExpired('other.leased_until', trust, seconds)} OR CASE WHEN ${BY_OPERATOR('d')}
      THEN ${BY_OPERATOR('other')} AND other.event_sequence < d.event_sequence
      ELSE ${BY_OPERATOR('other')} OR other.event_sequence < d.event_sequence END) OFFSET 0)`;

/** The SQL condition that a process with the given `ClockTrust` can claim the delivery `d`. */
const claimable = (trust: readonly [number, number], seconds: string): string =>
  `${freeFor(trust, seconds)} AND ${inTurn(trust, seconds)}`;

/**
 * The SQL condition that makes PostgreSQL's planner read a partner's rows in order from an index. Because of its
 * statistics, the planner might otherwise sort all rows of the partner.
 */
export const FROM_THE_OLDEST = expectingFew('d.notification_position');

/**
 * The columns of a delivery `d`, with their values at the time when the row is locked. Other parts of the statement see
 * the row as it was when the statement began.
 */
export const PICKED = `d.subscription_id, d.notification_position, d.booking_code, d.trigger, d.xmin AS seen`;
/**
 * The columns of a `picked` delivery and of its subscription `s`. With these columns, the statement needs no second
 * join with the subscriptions.
 */
const WITH_PARTNER = `picked.*, s.version, s.health, s.health_changed_at, s.wait_ms, s.pace`;

/**
 * Keeps the `picked` rows that are not blocked by another row of the same booking. The statement locks and updates the
 * other rows of the booking; see point 7 at the top of the file. {@link TAKEN} checks that a picked row itself is
 * unchanged.
 */
export const ALONE = `
   other AS MATERIALIZED (
     SELECT picked.subscription_id, picked.notification_position, d.notification_position AS other
     FROM picked CROSS JOIN LATERAL (
       SELECT d.notification_position FROM deliveries d
       WHERE d.subscription_id = picked.subscription_id AND d.booking_code = picked.booking_code
         AND d.notification_position <> picked.notification_position
         AND (picked.trigger <> 'FIRST' OR d.notification_position < picked.notification_position) OFFSET 0) d),
   locked AS MATERIALIZED (
     SELECT d.subscription_id, d.notification_position, d.xmin AS seen FROM deliveries d
     WHERE (d.subscription_id, d.notification_position) IN (SELECT subscription_id, other.other FROM other)
     FOR UPDATE SKIP LOCKED),
   behind AS (
     UPDATE deliveries d SET due_datetime = d.due_datetime FROM locked
     WHERE d.subscription_id = locked.subscription_id AND d.notification_position = locked.notification_position
       AND d.xmin = locked.seen
     RETURNING d.subscription_id, d.notification_position),
   alone AS (
     SELECT picked.* FROM picked WHERE ${expectingFew('notification_position')} AND (subscription_id, notification_position) NOT IN (
       SELECT subscription_id, notification_position FROM other
       WHERE (subscription_id, other.other) NOT IN (SELECT subscription_id, notification_position FROM behind)))`;

/** The SQL condition that the delivery `d` is the row `s` and has not changed since the statement began. */
export const TAKEN = `d.subscription_id = s.subscription_id AND d.notification_position = s.notification_position
     AND d.xmin = s.seen`;

/** The columns of a claimed notification: from its delivery `d`, its notification `n` and its subscription `s`. */
const CLAIMED = `d.notification_position AS position, d.subscription_id, d.lease_token, d.trigger, d.job_id,
  n.id, n.body, n.change_reason, n.event_sequence, n.traceparent, s.version, s.health = 'DOWN' AS down, s.health_changed_at, s.pace`;

/** A notification that this worker has claimed. */
export interface Claimed {
  position: number;
  subscription_id: string;
  lease_token: number;
  trigger: Trigger;
  /** The bulk job that sends the notification; null if no job does. */
  job_id: string | null;
  id: string;
  body: string;
  change_reason: NotifiedChange;
  event_sequence: number;
  traceparent: string | null;
  /** The version of the subscription at the time of the claim. */
  version: number;
  down: boolean;
  health_changed_at: Date | null;
  /** The maximum number of requests per second to the partner; null means no limit. */
  pace: number | null;
}

/**
 * The SQL expression for the number of rows to claim. For a paced partner, all can be sent before the leases expire.
 */
const MOST = `least(s.most, ceil(${PACED_S} * s.pace)::int)`;

const CLAIMABLE = claimable([5, 6], LEASE_S);

/**
 * Claims due notifications. $1: subscriptions; $2: the maximum number for each; $3: the default wait time; $4: the
 * fencing token; $5 and $6: the `ClockTrust`. For a DOWN partner, only manual resends are claimed.
 */
export const CLAIM = prepared(
  'delivery-claim',
  `WITH ${LEASE('$4')},
   partner AS MATERIALIZED (
     SELECT s.*, wanted.most
     FROM unnest(${unestimated('$1::uuid[]')}, $2::int[]) AS wanted (id, most) CROSS JOIN LATERAL (
       SELECT s.id, s.version, s.health, s.health_changed_at, coalesce(s.wait_ms, $3::int) AS wait_ms, ${PACE} AS pace
       FROM subscriptions s
       WHERE s.id = wanted.id AND s.state = 'ACTIVE' AND s.deleted_datetime IS NULL AND ${MAY_BE_ASKED}
       FOR KEY SHARE SKIP LOCKED) s),
   in_order AS (
     SELECT ${WITH_PARTNER} FROM partner s CROSS JOIN LATERAL (
       SELECT ${PICKED} FROM deliveries d
       WHERE d.subscription_id = s.id AND ${FROM_THE_OLDEST} AND ${CLAIMABLE}
       ORDER BY d.notification_position LIMIT CASE s.health WHEN 'UP' THEN ${MOST} ELSE 0 END
       FOR UPDATE SKIP LOCKED) picked),
   by_operator AS (
     SELECT ${WITH_PARTNER} FROM partner s CROSS JOIN LATERAL (
       SELECT ${PICKED} FROM deliveries d
       WHERE d.subscription_id = s.id AND ${BY_OPERATOR('d')} AND ${CLAIMABLE}
       ORDER BY d.notification_position LIMIT CASE s.health WHEN 'DOWN' THEN ${MOST} ELSE 0 END
       FOR UPDATE SKIP LOCKED) picked),
   picked AS MATERIALIZED (SELECT * FROM in_order UNION ALL SELECT * FROM by_operator),
   ${ALONE}
   UPDATE deliveries d SET lease_token = lease.token, leased_until = ${LEASE_END}, begun = false
   FROM lease, alone s JOIN notifications n ON n.position = s.notification_position
   WHERE ${TAKEN} RETURNING ${CLAIMED}`,
  acrossAccounts.workers,
);

/**
 * The number of consecutive failures of an event after which the service suspects that the partner can process all
 * events except this one.
 */
export const SUSPECT_AFTER = 3;

/** The SQL condition that the probe of a DOWN subscription `s` is due. */
export const PROBE_IS_DUE = isOver('s.probe_from', 's.next_probe_at');

const PROBEABLE = claimable([4, 5], LEASE_S);

/**
 * Claims one probe for each partner whose probe is due. The probe is the partner's first event or, without an event, an
 * item of a bulk job. $1: the default wait time; $2: the maximum number; $3: the fencing token; $4 and $5: the
 * `ClockTrust`. If an event has failed three times in a row, the probe is an event of a different booking. If the
 * partner accepts that event, the first event itself is at fault (record-statements.ts).
 */
export const CLAIM_PROBES = prepared(
  'delivery-claim-probes',
  `WITH ${LEASE('$3')},
   partner AS MATERIALIZED (
     SELECT s.id, s.version, s.health, s.health_changed_at, coalesce(s.wait_ms, $1::int) AS wait_ms, ${PACE} AS pace
     FROM subscriptions s
     WHERE s.health = 'DOWN' AND s.state = 'ACTIVE' AND s.deleted_datetime IS NULL
       AND ${PROBE_IS_DUE} AND ${MAY_BE_ASKED} AND ${IN_PACE}
       AND EXISTS (SELECT FROM deliveries d WHERE d.subscription_id = s.id)
     ORDER BY s.next_probe_at LIMIT $2::int FOR UPDATE SKIP LOCKED),
   unsuspected AS MATERIALIZED (
     SELECT ${WITH_PARTNER} FROM partner s CROSS JOIN LATERAL (
       SELECT ${PICKED} FROM deliveries d
       WHERE d.subscription_id = s.id AND ${FROM_THE_OLDEST} AND d.trigger IN ('FIRST', 'AUTO') AND ${PROBEABLE}
         AND d.failures < ${SUSPECT_AFTER}
       ORDER BY d.notification_position LIMIT 1 FOR UPDATE SKIP LOCKED) picked),
   suspect AS MATERIALIZED (
     SELECT ${WITH_PARTNER} FROM partner s CROSS JOIN LATERAL (
       SELECT ${PICKED} FROM deliveries d
       WHERE d.subscription_id = s.id AND d.failures > 0 AND d.trigger IN ('FIRST', 'AUTO') AND ${PROBEABLE}
         AND s.id NOT IN (SELECT subscription_id FROM unsuspected)
       ORDER BY d.failures, d.notification_position LIMIT 1 FOR UPDATE SKIP LOCKED) picked),
   oldest AS MATERIALIZED (SELECT * FROM unsuspected UNION ALL SELECT * FROM suspect),
   of_job AS (
     SELECT ${WITH_PARTNER} FROM partner s CROSS JOIN LATERAL (
       SELECT ${PICKED} FROM deliveries d
       WHERE d.subscription_id = s.id AND ${FROM_THE_OLDEST} AND d.job_id IS NOT NULL AND ${PROBEABLE}
         AND s.id NOT IN (SELECT subscription_id FROM oldest)
       ORDER BY d.notification_position LIMIT 1 FOR UPDATE SKIP LOCKED) picked),
   picked AS MATERIALIZED (SELECT * FROM oldest UNION ALL SELECT * FROM of_job),
   ${ALONE},
   claimed AS (
     UPDATE deliveries d SET lease_token = lease.token, leased_until = ${LEASE_END}, begun = false,
       trigger = CASE WHEN d.job_id IS NULL THEN 'AUTO' ELSE d.trigger END
     FROM lease, alone s JOIN notifications n ON n.position = s.notification_position
     WHERE ${TAKEN} RETURNING ${CLAIMED}, s.wait_ms),
   held AS (
     UPDATE subscriptions s
     SET next_probe_at = statement_timestamp() + make_interval(secs => claimed.wait_ms / 1000.0 + ${LEASE_EXTRA_S}),
       probe_from = statement_timestamp(), probe_token = claimed.lease_token, paced_to = ${ONE_MORE}
     FROM claimed WHERE s.id = claimed.subscription_id)
   SELECT * FROM claimed`,
  acrossAccounts.workers,
);

/**
 * Marks attempts as begun. $1: subscriptions; $2: positions; $3: tokens. A row that another worker has claimed in the
 * meantime is not marked.
 */
export const BEGUN = prepared(
  'delivery-begun',
  `UPDATE deliveries d SET begun = true
   FROM unnest(${unestimated('$1::uuid[]')}, $2::bigint[], $3::bigint[]) AS o (subscription_id, position, token)
   WHERE ${expectingFew('o.position')} AND d.subscription_id = o.subscription_id AND d.notification_position = o.position AND d.lease_token = o.token`,
);

/**
 * Releases the claims of notifications that were not sent. $1: subscriptions; $2: positions; $3: tokens. A notification
 * that its bulk job has already counted as sent is counted as waiting again.
 */
export const RELEASE = prepared(
  'delivery-release',
  `WITH freed AS (
     UPDATE deliveries d SET lease_token = NULL, leased_until = NULL
     FROM unnest(${unestimated('$1::uuid[]')}, $2::bigint[], $3::bigint[]) AS o (subscription_id, position, token)
     WHERE ${expectingFew('o.position')} AND d.subscription_id = o.subscription_id AND d.notification_position = o.position AND d.lease_token = o.token
     RETURNING d.job_id, d.notification_position),
   unsent AS (
     UPDATE job_items i SET outcome = 'WAITING'
     FROM freed WHERE i.job_id = freed.job_id AND i.notification_position = freed.notification_position AND i.outcome = 'SENT'
     RETURNING i.job_id, i.subscription_id)
   UPDATE job_parts p SET waiting = p.waiting + u.count, sent = p.sent - u.count
   FROM (SELECT job_id, subscription_id, count(*)::int AS count FROM unsent GROUP BY 1, 2 ORDER BY 1, 2) u
   WHERE p.job_id = u.job_id AND p.subscription_id = u.subscription_id`,
);

/**
 * Makes the probe of a partner due again after the claimed probe was released without being sent. The claim had
 * postponed the next probe until the end of the lease. $1: subscriptions; $2: tokens.
 */
export const RELEASE_PROBE = prepared(
  'delivery-release-probe',
  `UPDATE subscriptions s SET next_probe_at = statement_timestamp()
   FROM unnest(${unestimated('$1::uuid[]')}, $2::bigint[]) AS o (subscription_id, token)
   WHERE s.id = o.subscription_id AND s.probe_token = o.token AND s.health = 'DOWN'`,
  acrossAccounts.workers,
);

/**
 * Finds the subscriptions with rows that can be claimed. The statement uses one index look-up for each subscription
 * with rows in `deliveries`.
 */
export const FIND_WORK = prepared(
  'delivery-find-work',
  `WITH RECURSIVE queue AS (
     (SELECT subscription_id FROM deliveries ORDER BY subscription_id LIMIT 1)
     UNION ALL
     SELECT (SELECT d.subscription_id FROM deliveries d WHERE d.subscription_id > queue.subscription_id
             ORDER BY d.subscription_id LIMIT 1)
     FROM queue WHERE queue.subscription_id IS NOT NULL)
   SELECT s.id FROM queue JOIN subscriptions s ON s.id = queue.subscription_id
   WHERE s.state = 'ACTIVE' AND s.deleted_datetime IS NULL AND ${MAY_BE_ASKED} AND (s.health = 'UP' OR EXISTS (
     SELECT FROM deliveries d WHERE d.subscription_id = s.id AND ${BY_OPERATOR('d')}))`,
  acrossAccounts.workers,
);
