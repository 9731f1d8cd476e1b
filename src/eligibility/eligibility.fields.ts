import { Field } from '../platform/validation/fields.js';
import { AccountPath, testCodeRule } from '../platform/validation/identifiers.js';
import { code, text } from '../platform/validation/rules.js';
import { declareFaults } from '../platform/errors.js';

declareFaults({
  client_eligibility_id_invalid: [
    'The value cannot be used as a client_eligibility_id.',
    'Use at most 20 characters: letters, digits, hyphens, dots and underscores.',
  ],
  candidate_id_invalid: [
    'The value cannot be used as a candidate_id, because it cannot be part of a URL.',
    'Use printable characters other than / and \\, and no spaces at the beginning or end. The value must not be . or .. alone.',
  ],
});

const candidateId = { code: 'candidate_id_invalid', example: 'C-1001' };

export const candidateIdRule = code(50, {
  ...candidateId,
  description:
    'Printable characters: no invisible Unicode characters, and no spaces at the beginning or end; not `.` or `..`.',
  // Refuses `.` and `..`, because clients remove these segments from a URL before they send it (RFC 3986 §5.2.4).
  accepts: (value) => !/^\.{1,2}$/.test(value),
});

/** The maximum number of test portions that an eligibility record names. */
export const MOST_PORTIONS = 20;

/** The validation rule for each part of a candidate's name: first, middle or last name. */
export const personNameRule = text({ max: 100, notBlank: true });

export const clientEligibilityIdRule = text({
  min: 1,
  max: 20,
  code: 'client_eligibility_id_invalid',
  form: 'Must consist of letters, digits, hyphens, dots and underscores.',
  pattern: /^[A-Za-z0-9._-]+$/,
  example: 'EL-2027.001',
});

/** The path parameters of the routes that concern one candidate. */
export class CandidatePath extends AccountPath {
  /**
   * The candidate's id, which may also be `.` or `..` in this path. No candidate has such an id, so no record is found.
   */
  @Field(code(50, candidateId), { required: true })
  candidate_id: string;
}

/** The path parameters of the routes below a candidate's eligibility for one test. */
export class CandidateTestPath extends CandidatePath {
  @Field(testCodeRule, { required: true })
  test_code: string;
}

export const ELIGIBILITY_STATUSES = [
  'PENDING',
  'ELIGIBLE',
  'SCHEDULED',
  'COMPLETED',
  'ABSENT',
  'EXPIRED',
  'CANCELLED',
] as const;
export type EligibilityStatus = (typeof ELIGIBILITY_STATUSES)[number];

export const ACTIVE_STATUSES: readonly EligibilityStatus[] = ['PENDING', 'ELIGIBLE', 'SCHEDULED'];
/**
 * The active statuses of a record without a booking. A record with one of these statuses becomes EXPIRED at the end of
 * its window.
 */
export const OPEN_STATUSES: readonly EligibilityStatus[] = ['PENDING', 'ELIGIBLE'];

function isOneOf(statuses: readonly EligibilityStatus[]): string {
  return `status IN (${statuses.map((status) => `'${status}'`).join(', ')})`;
}

/**
 * The SQL condition that the status stored in the row is one of the active statuses. See {@link statusAt} for records
 * whose window is over.
 */
export const LIVE = isOneOf(ACTIVE_STATUSES);
/**
 * The SQL condition that the status stored in the row is one of the open statuses. See {@link statusAt} for records
 * whose window is over.
 */
export const OPEN = isOneOf(OPEN_STATUSES);
export const INACTIVE_STATUSES: readonly EligibilityStatus[] = ['COMPLETED', 'ABSENT', 'EXPIRED', 'CANCELLED'];

/** The members of an eligibility record on which the eligibility rules depend. */
export interface EligibilityState {
  status: EligibilityStatus;
  hold_reason: string | null;
  approval_pending: boolean;
  decline_reason: string | null;
  schedule_start_date: Date | null;
  eligibility_end_date: Date | null;
}

/**
 * Returns the status of an eligibility record at a given time. A PENDING or ELIGIBLE record whose window is over counts
 * as EXPIRED, even if its row does not say so yet.
 */
export function statusAt(record: EligibilityState, now: Date): EligibilityStatus {
  return OPEN_STATUSES.includes(record.status) && isWindowOver(record, now) ? 'EXPIRED' : record.status;
}

export function isWindowOver({ eligibility_end_date }: EligibilityState, now: Date): boolean {
  return eligibility_end_date !== null && eligibility_end_date <= now;
}
