import { randomBytes } from 'node:crypto';
import { MACHINE_TIME } from '../../platform/database/database.js';

/** The time, in seconds, by which a lease lasts longer than the partner's wait time. */
export const LEASE_EXTRA_S = 20;
/**
 * The time after the claim, in milliseconds, within which an attempt may start. The rest of the lease's additional time
 * is for recording the outcome.
 */
export const MAY_START_MS = 12_000;

/**
 * The SQL condition that no valid lease covers the delivery `d`. The expired lease of a polled notification still covers
 * it until the expiry is recorded as an attempt (poll-statements.ts).
 */
export const FREE = `(d.leased_until IS NULL OR d.leased_until < ${MACHINE_TIME} AND NOT EXISTS (
  SELECT FROM poll_offers o
  WHERE o.notification_position = d.notification_position AND o.lease_token = d.lease_token OFFSET 0))`;

/**
 * Returns a fencing token for all rows that one statement claims. The token is random, because a database sequence can
 * repeat values after a failover to a standby that lagged behind.
 */
export function leaseToken(): number {
  return Number(randomBytes(8).readBigUInt64BE() >> 11n);
}

/**
 * Returns the SQL of a subquery with the fencing token.
 * @param parameter the parameter with the {@link leaseToken}
 */
export const LEASE = (parameter: string) => `lease AS MATERIALIZED (SELECT ${parameter}::bigint AS token)`;

/** The SQL expression for the end of a new lease. It depends on the wait time of the subscription `s`. */
export const LEASE_END = `${MACHINE_TIME} + make_interval(secs => s.wait_ms / 1000.0 + ${LEASE_EXTRA_S})`;
