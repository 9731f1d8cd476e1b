import { randomBytes } from 'node:crypto';
import { MACHINE_TIME } from '../../platform/database/database.js';

/** The time, in seconds, by which a lease lasts longer than the partner's wait time. */
export const LEASE_EXTRA_S = 20;
/**
 * The time after the claim, in milliseconds, within which an attempt may start. It is part of LEASE_EXTRA_S; the rest
 * of LEASE_EXTRA_S is for recording the outcome.
 */
export const MAY_START_MS = 12_000;

/**
 * The values about the database's clock that a process passes to statements that grant leases (clock-watch.ts).
 * `expiredUpTo`: a time on the database's clock, in seconds since 1970; leases that end before it are known to have
 * expired. `jumpedS`: the seconds since the clock jumped forward; 0 if it did not.
 */
export type ClockTrust = readonly [expiredUpTo: number, jumpedS: number];

/**
 * The SQL condition that a lease has expired, for a process with a {@link ClockTrust}. After the clock has jumped
 * forward, the end of a lease from before the jump is compared with the time that the clock would show without the
 * jump. A lease that was granted after the jump can expire only when more time has passed since the jump than a lease
 * lasts.
 * @param trust the parameter numbers of the two values in the {@link ClockTrust}
 * @param seconds SQL for the duration of the lease in seconds
 */
export const hasExpired = (until: string, trust: readonly [number, number], seconds: string): string =>
  `(${until} < ${MACHINE_TIME} AND (${until} < to_timestamp($${trust[0]}::float8) OR $${trust[1]}::float8 > ${seconds}))`;

const unlessOffered = (hasLapsed: string) => `(d.leased_until IS NULL OR ${hasLapsed} AND NOT EXISTS (
  SELECT FROM poll_offers o
  WHERE o.notification_position = d.notification_position AND o.lease_token = d.lease_token OFFSET 0))`;

/**
 * The SQL condition that no valid lease covers the delivery `d`. The expired lease of a polled notification still
 * covers the delivery until the expiry is recorded as an attempt (poll-statements.ts). Statements that start attempts
 * use {@link freeFor}.
 */
export const FREE = unlessOffered(`d.leased_until < ${MACHINE_TIME}`);

/** The SQL condition {@link FREE} for a statement that grants a lease, in a process with a {@link ClockTrust}. */
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
