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
 * The knowledge of a process about the database's clock, for a statement that grants leases: the time on that clock, in
 * seconds since 1970, up to which leases are known to have expired; and the seconds since the clock jumped forward, 0
 * if it did not (clock-watch.ts).
 */
export type ClockTrust = readonly [expiredUpTo: number, jumpedS: number];

/**
 * The SQL condition that a lease has expired, for a process with a {@link ClockTrust}. After a jump of the clock, a
 * lease from before the jump expires when its own time is over, and a lease from after it not before it is that old.
 * @param trust the numbers of the two parameters
 * @param seconds SQL for the time for which the lease was granted
 */
export const hasExpired = (until: string, trust: readonly [number, number], seconds: string): string =>
  `(${until} < ${MACHINE_TIME} AND (${until} < to_timestamp($${trust[0]}::float8) OR $${trust[1]}::float8 > ${seconds}))`;

const unlessOffered = (hasLapsed: string) => `(d.leased_until IS NULL OR ${hasLapsed} AND NOT EXISTS (
  SELECT FROM poll_offers o
  WHERE o.notification_position = d.notification_position AND o.lease_token = d.lease_token OFFSET 0))`;

/**
 * The SQL condition that no valid lease covers the delivery `d`. The expired lease of a polled notification still covers
 * it until the expiry is recorded as an attempt (poll-statements.ts). Statements that start attempts use
 * {@link freeFor}.
 */
export const FREE = unlessOffered(`d.leased_until < ${MACHINE_TIME}`);

/** The SQL condition {@link FREE} of a statement that grants a lease, for a process with a {@link ClockTrust}. */
export const freeFor = (trust: readonly [number, number], seconds: string): string =>
  unlessOffered(hasExpired('d.leased_until', trust, seconds));

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

/** The SQL expression for the seconds of a lease. They depend on the wait time of the subscription `s`. */
export const LEASE_S = `s.wait_ms / 1000.0 + ${LEASE_EXTRA_S}`;

/** The SQL expression for the end of a new lease. It depends on the wait time of the subscription `s`. */
export const LEASE_END = `${MACHINE_TIME} + make_interval(secs => ${LEASE_S})`;
