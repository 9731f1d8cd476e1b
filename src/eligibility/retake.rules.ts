import type { RetakePolicy } from '../accounts/accounts.commands.js';
import { formatOptionalDateTime } from '../platform/clock.js';
import type { Eligibility } from './eligibility.entity.js';
import { retakeNotAllowed } from './eligibility.errors.js';

/** The members of an eligibility record that show whether the candidate attempted the test, and when. */
export type Attempt = Pick<Eligibility, 'status' | 'last_event_at'>;

const DAY_MS = 86_400_000;

/**
 * Returns the earliest time of another attempt under the policy of a test. The time is in the past if an attempt is
 * allowed immediately. Returns null if no further attempt is allowed at any time.
 * @param attempts the times of the earlier attempts, in any order
 */
export function retakeAllowedFrom(policy: RetakePolicy, attempts: readonly Date[]): Date | null {
  const newestFirst = attempts.map(Number).sort((left, right) => right - left);
  const { wait_days, max_attempts, period_days } = policy;
  let from = -Infinity;
  if (wait_days != null && newestFirst.length > 0) from = newestFirst[0] + wait_days * DAY_MS;
  if (max_attempts != null && newestFirst.length >= max_attempts) {
    if (period_days == null) return null;
    from = Math.max(from, newestFirst[max_attempts - 1] + period_days * DAY_MS);
  }
  return new Date(Math.max(from, 0));
}

/**
 * Refuses an exam at a time that the retake policy of its test does not allow.
 * @param records the candidate's records for the test; the COMPLETED and ABSENT records are attempts
 * @param at the time of the exam, or the earliest time at which it can be booked
 * @throws DomainError retake_not_allowed
 */
export function assertRetakeAllowed(policy: RetakePolicy, records: readonly Attempt[], at: Date): void {
  const attempts = records.flatMap(({ status, last_event_at }) =>
    (status === 'COMPLETED' || status === 'ABSENT') && last_event_at !== null ? [last_event_at] : [],
  );
  const from = retakeAllowedFrom(policy, attempts);
  if (from === null || at < from)
    throw retakeNotAllowed.error({ members: { allowed_from: formatOptionalDateTime(from) } });
}
