/**
 * The SQL statements of poll delivery. A poll claims the same rows of `deliveries` as a worker, by the same rules
 * (delivery-statements.ts). The partner acknowledges or refuses the notifications in its next request, instead of by
 * its response to a push.
 *
 * 1. A poll leases rows for the time that the partner has asked for, and writes a row in `poll_offers` for each of
 *    them. The attempt is marked as begun, because the partner already has the notification. A change to the
 *    subscription therefore does not wait for the end of the lease.
 * 2. An acknowledgement or a refusal removes the offer and records the outcome of the attempt, in one transaction. It
 *    counts only if it comes from the caller that polled, and only while both rows have the same, valid lease.
 * 3. An offer whose lease has expired (a lapsed offer) is removed in the same way. Its attempt counts as failed with
 *    `timeout`, and the notification is offered again or, after a change to PUSH, sent. No worker or poll claims the
 *    row before the offer is removed (`FREE`), so that the attempt is recorded in every case.
 *
 * Never change a row of `deliveries` here without its token.
 */
import { acrossAccounts, expectingFew, MACHINE_TIME, prepared, unestimated } from '../../platform/database/database.js';
import { FREE, freeFor, hasExpired, LEASE, LEASE_EXTRA_S } from './delivery-lease.js';
import { ALONE, FROM_THE_OLDEST, inTurn, PICKED, TAKEN } from './delivery-statements.js';
import type { NotifiedChange } from '../notified-change.js';
import type { Trigger } from './delivery.entity.js';

const LAPSED_BATCH = 500;
/**
 * The longest possible lease, in seconds, of a delivery that was claimed for sending before its partner began to poll.
 */
const LONGEST_LEASE_S = String(60 + LEASE_EXTRA_S);
const OFFERABLE = `${freeFor([6, 7], LONGEST_LEASE_S)} AND ${inTurn([6, 7], LONGEST_LEASE_S)}`;

/** The SQL condition that the partner of a subscription `s` may poll its notifications. */
const POLLED = `s.delivery = 'POLL' AND s.state = 'ACTIVE' AND s.deleted_datetime IS NULL`;

/** A notification that a poll has claimed. `more` says whether more notifications could be claimed. */
export interface Offered {
  position: number;
  subscription_id: string;
  lease_token: number;
  job_id: string | null;
  id: string;
  body: string;
  event_sequence: number;
  change_reason: NotifiedChange;
  more: boolean;
}

/**
 * Claims notifications for a poll, the oldest first. $1: subscriptions; $2: the maximum number; $3: the fencing token;
 * $4: the length of the lease in seconds; $5: the caller; $6 and $7: the `ClockTrust`.
 */
export const OFFER = prepared(
  'poll-offer',
  `WITH ${LEASE('$3')},
   partner AS MATERIALIZED (
     SELECT s.* FROM unnest(${unestimated('$1::uuid[]')}) AS wanted (id) CROSS JOIN LATERAL (
       SELECT s.id FROM subscriptions s WHERE s.id = wanted.id AND ${POLLED} FOR KEY SHARE SKIP LOCKED) s),
   found AS MATERIALIZED (
     SELECT picked.* FROM partner s CROSS JOIN LATERAL (
       SELECT ${PICKED} FROM deliveries d
       WHERE d.subscription_id = s.id AND ${FROM_THE_OLDEST} AND ${OFFERABLE}
       ORDER BY d.notification_position LIMIT $2::int + 1 FOR UPDATE SKIP LOCKED) picked),
   picked AS MATERIALIZED (SELECT * FROM found ORDER BY notification_position LIMIT $2::int),
   ${ALONE},
   claimed AS (
     UPDATE deliveries d SET lease_token = lease.token, begun = true,
       leased_until = ${MACHINE_TIME} + make_interval(secs => $4::int)
     FROM lease, alone s JOIN notifications n ON n.position = s.notification_position
     WHERE ${TAKEN}
     RETURNING d.notification_position AS position, d.subscription_id, d.lease_token, d.leased_until, d.trigger,
       d.job_id, n.id, n.body, n.event_sequence, n.change_reason),
   offered AS (
     INSERT INTO poll_offers (notification_id, lease_token, subscription_id, notification_position, trigger, job_id,
       caller, offered_datetime, lease_s, leased_until)
     SELECT id, lease_token, subscription_id, position, trigger, job_id, $5, statement_timestamp(), $4::int, leased_until
     FROM claimed)
   SELECT position, subscription_id, lease_token, job_id, id, body, event_sequence, change_reason,
     (SELECT count(*) FROM found) > $2::int AS more
   FROM claimed ORDER BY position`,
  acrossAccounts.workers,
);

/** An offer that was removed, with the data for recording its attempt. */
export interface Ended {
  notification_id: string;
  subscription_id: string;
  account_code: string;
  position: number;
  lease_token: number;
  trigger: Trigger;
  job_id: string | null;
  at: Date;
  duration_ms: number;
}

const ENDED = `o.notification_id, o.subscription_id,
  (SELECT s.account_code FROM subscriptions s WHERE s.id = o.subscription_id) AS account_code, o.notification_position AS position, o.lease_token, o.trigger, o.job_id,
  o.offered_datetime AS at`;

/**
 * Removes the offers that a caller settles. $1: notifications; $2: the caller; $3: the caller's subscriptions; $4 and
 * $5: the `ClockTrust`. The row in `deliveries` is locked first, so that no other worker or poll can claim it at the
 * same time.
 */
export const SETTLE_OFFERS = prepared(
  'poll-settle',
  `WITH held AS MATERIALIZED (
     SELECT o.notification_id, o.lease_token FROM poll_offers o
       JOIN deliveries d ON d.subscription_id = o.subscription_id AND d.notification_position = o.notification_position
         AND d.lease_token = o.lease_token
     WHERE o.notification_id = ANY (${unestimated('$1::uuid[]')}::uuid[]) AND o.caller = $2
       AND o.subscription_id = ANY ($3::uuid[]) AND NOT ${hasExpired('d.leased_until', [4, 5], 'o.lease_s')}
     ORDER BY o.notification_position FOR UPDATE OF d, o)
   DELETE FROM poll_offers o USING held
   WHERE o.notification_id = held.notification_id AND o.lease_token = held.lease_token
   RETURNING ${ENDED},
     greatest(0, round(date_part('epoch', ${MACHINE_TIME} - o.leased_until) * 1000 + o.lease_s * 1000.0))::int AS duration_ms`,
);

const LAPSED = `${hasExpired('o.leased_until', [2, 3], 'o.lease_s')} AND ($1::uuid[] IS NULL OR o.subscription_id = ANY ($1))`;

/** Finds a lapsed offer of the subscriptions in $1 (null: of any subscription). $2 and $3: the `ClockTrust`. */
export const FIND_LAPSED = prepared(
  'poll-find-lapsed',
  `SELECT FROM poll_offers o WHERE ${LAPSED} LIMIT 1`,
  acrossAccounts.workers,
);

/** Removes the lapsed offers of the subscriptions in $1 (null: of all subscriptions). $2 and $3: the `ClockTrust`. */
export const LAPSE_OFFERS = prepared(
  'poll-lapse',
  `WITH lapsed AS MATERIALIZED (
     SELECT o.notification_id, o.lease_token FROM poll_offers o
     WHERE ${LAPSED}
     ORDER BY o.leased_until LIMIT ${LAPSED_BATCH} FOR UPDATE SKIP LOCKED)
   DELETE FROM poll_offers o USING lapsed
   WHERE o.notification_id = lapsed.notification_id AND o.lease_token = lapsed.lease_token
   RETURNING ${ENDED}, o.lease_s * 1000 AS duration_ms`,
);

/** Removes offers that a poll has made but does not return to its client. $1: notifications; $2: tokens. */
export const WITHDRAW_OFFERS = prepared(
  'poll-withdraw',
  `DELETE FROM poll_offers o USING unnest($1::uuid[], $2::bigint[]) AS w (id, token)
   WHERE o.notification_id = w.id AND o.lease_token = w.token`,
  acrossAccounts.workers,
);

/** Finds the subscriptions among $1 for which a waiting poll may get a notification. */
export const FIND_OFFERABLE = prepared(
  'poll-find-offerable',
  `SELECT s.id FROM unnest(${unestimated('$1::uuid[]')}) AS waiting (id) JOIN subscriptions s ON s.id = waiting.id
   WHERE ${POLLED} AND EXISTS (
     SELECT FROM deliveries d WHERE d.subscription_id = s.id AND ${expectingFew('d.notification_position')} AND ${FREE} OFFSET 0)`,
  acrossAccounts.keyInHand,
);
