import { Field } from '../platform/validation/fields.js';
import { AccountPath, testCodeRule } from '../platform/validation/identifiers.js';
import { code } from '../platform/validation/rules.js';
import { declareFaults } from '../platform/errors.js';

declareFaults({
  candidate_id_invalid: [
    'The value cannot be used as a candidate_id, because it does not fit in a URL.',
    'Use printable characters without / and \\, without spaces at the beginning or end. The value must not be . or .. alone.',
  ],
});

const candidateId = { code: 'candidate_id_invalid', example: 'C-1001' };

export const candidateIdRule = code(50, {
  ...candidateId,
  description: 'Printable: no invisible characters of Unicode, no blanks of any kind at the ends; not `.` or `..`.',
  // RFC 3986 §5.2.4: clients remove such segments from a URL before they send it.
  accepts: (value) => !/^\.{1,2}$/.test(value),
});

/** The prefix of an erased candidate's id and the number of characters that follow; both fit in any id. */
export const ERASED_ID = 'ERASED-';
export const ERASED_ID_LENGTH = 12;

/** Path of everything below a candidate. */
export class CandidatePath extends AccountPath {
  /** `.` and `..` are accepted here, but match no candidate. */
  @Field(code(50, candidateId), { required: true })
  candidate_id: string;
}

/** Path of a candidate's eligibility for a test. */
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
/** Live statuses without a booking: such a record becomes EXPIRED at the end of its window. */
export const OPEN_STATUSES: readonly EligibilityStatus[] = ['PENDING', 'ELIGIBLE'];

function isOneOf(statuses: readonly EligibilityStatus[]): string {
  return `status IN (${statuses.map((status) => `'${status}'`).join(', ')})`;
}

/** SQL: whether the stored status is live. */
export const LIVE = isOneOf(ACTIVE_STATUSES);
/** SQL: whether the stored status is open. */
export const OPEN = isOneOf(OPEN_STATUSES);
export const INACTIVE_STATUSES: readonly EligibilityStatus[] = ['COMPLETED', 'ABSENT', 'EXPIRED', 'CANCELLED'];

/** The members of a record that the rules need. */
export interface EligibilityState {
  status: EligibilityStatus;
  hold_reason: string | null;
  approval_pending: boolean;
  decline_reason: string | null;
  schedule_start_date: Date | null;
  eligibility_end_date: Date | null;
}

/**
 * Returns the status at an instant: a PENDING or ELIGIBLE record whose window is over counts as EXPIRED, although the
 * row may not say so yet.
 */
export function statusAt(record: EligibilityState, now: Date): EligibilityStatus {
  return OPEN_STATUSES.includes(record.status) && isWindowOver(record, now) ? 'EXPIRED' : record.status;
}

export function isWindowOver({ eligibility_end_date }: EligibilityState, now: Date): boolean {
  return eligibility_end_date !== null && eligibility_end_date <= now;
}
