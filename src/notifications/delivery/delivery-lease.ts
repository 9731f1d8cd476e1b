import { randomBytes } from 'node:crypto';
import { MACHINE_TIME } from '../../platform/database/database.js';

/** The extra time of a lease beyond the wait time. */
export const LEASE_EXTRA_S = 20;
/** The time after its claim in which an attempt may start; the remaining extra time is for recording it. */
export const MAY_START_MS = 12_000;

/** SQL: the delivery `d` has no valid lease. */
export const FREE = `(d.leased_until IS NULL OR d.leased_until < ${MACHINE_TIME})`;

/**
 * Returns the fencing token shared by all rows that one statement claims. It is random because a sequence can repeat
 * values after a failover to a standby that lagged behind.
 */
export function leaseToken(): number {
  return Number(randomBytes(8).readBigUInt64BE() >> 11n);
}

/** @param parameter the {@link leaseToken} */
export const LEASE = (parameter: string) => `lease AS MATERIALIZED (SELECT ${parameter}::bigint AS token)`;

/** SQL: the end of a lease for a subscription `s` with its effective wait time. */
export const LEASE_END = `${MACHINE_TIME} + make_interval(secs => s.wait_ms / 1000.0 + ${LEASE_EXTRA_S})`;
