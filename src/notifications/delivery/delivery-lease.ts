import { randomBytes } from 'node:crypto';
import { MACHINE_TIME } from '../../platform/database/database.js';

/** The time, in seconds, by which a lease lasts longer than the partner's wait time. */
export const LEASE_EXTRA_S = 20;
/**
 * The time after the claim, in milliseconds, within which an attempt may start. This time is the first part of
 * LEASE_EXTRA_S. The remaining part of LEASE_EXTRA_S is for recording the outcome.
 */
export const MAY_START_MS = 12_000;

/**
 * The values about the database's clock that a process passes to statements that grant leases (clock-watch.ts).
 * `expiredUpTo` is a time on the database's clock, in seconds since 1970. A lease that ends before this time has
 * expired, even if the clock has jumped. `jumpedS` is the number of seconds since the clock jumped forward, or 0 if the
 * clock did not jump.
 */
export type ClockTrust = readonly [expiredUpTo: number, jumpedS: number];

/**
 * The SQL condition that a lease has expired, for a process with a {@link ClockTrust}. If the clock has jumped forward,
 * the end of a lease from before the jump is compared with the time that the clock would show without the jump. A lease
 * from after the jump counts as expired only when more time has passed since the jump than a lease lasts.
 * @param trust the parameter numbers of the two values in the {@link ClockTrust}
 * @param seconds SQL for the duration of the lease in seconds
 */
export const hasExpired = (until: string, trust: readonly [number, number], seconds: string): string =>
  `(${until} < ${MACHINE_TIME} AND (${until} < to_timestamp($${trust[0]}::float8) OR $${trust[1]}::float8 > ${seconds}))`;

const unlessOffered = (hasLapsed: string) => `(d.leased_until IS NULL OR ${hasLapsed} AND NOT EXISTS (
  SELECT FROM poll_offers o
  WHERE o.notification_position = d.notification_position AND o.lease_token = d.lease_token OFFSET 0))`;

/**
 * The SQL condition that no valid lease covers the delivery `d`. The expired lease of a polled notification counts as
 * valid until its expiry is recorded as a failed attempt (poll-statements.ts). Statements that start attempts use
 * {@link freeFor} instead.
 */
export const FREE = unlessOffered(`d.leased_until < ${MACHINE_TIME}`);

/** The variant of the SQL condition {@link FREE} for statements that grant a lease. It uses a {@link ClockTrust}. */
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

/** The SQL expression for the duration of a lease in seconds. It depends on the wait time of the subscription `s`. */
export const LEASE_S = `s.wait_ms / 1000.0 + ${LEASE_EXTRA_S}`;

/** The SQL expression for the end of a new lease. It depends on the wait time of the subscription `s`. */
export const LEASE_END = `${MACHINE_TIME} + make_interval(secs => ${LEASE_S})`;
