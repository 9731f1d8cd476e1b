import { randomBytes } from 'node:crypto';
import { MACHINE_TIME } from '../../platform/database/database.js';

/** How much longer than the wait time a lease is. */
export const LEASE_EXTRA_S = 20;
/** How long after its claim an attempt may begin; the rest of the extra time is for recording it. */
export const MAY_START_MS = 12_000;

/** SQL: nobody has the delivery `d` on lease. */
export const FREE = `(d.leased_until IS NULL OR d.leased_until < ${MACHINE_TIME})`;

/**
 * The fencing token of all that one statement claims: random, because a sequence may repeat after a failover to a standby
 * that had not all of it.
 */
export function leaseToken(): number {
  return Number(randomBytes(8).readBigUInt64BE() >> 11n);
}

/** @param parameter the {@link leaseToken} */
export const LEASE = (parameter: string) => `lease AS MATERIALIZED (SELECT ${parameter}::bigint AS token)`;

/** Of a subscription `s` with its wait time in effect. */
export const LEASE_END = `${MACHINE_TIME} + make_interval(secs => s.wait_ms / 1000.0 + ${LEASE_EXTRA_S})`;
