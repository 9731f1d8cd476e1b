import { ACTIVE_STATUSES, type EligibilityStatus } from '../../eligibility/eligibility.fields.js';
import type { Problem } from '../../platform/errors.js';
import {
  candidateExamAmbiguous,
  candidateExamNotFound,
  registrationAmbiguous,
  registrationMismatch,
  registrationNotFound,
  resultIdConflict,
} from '../results.errors.js';
import {
  MOST_LETTERS,
  MOST_LETTERS_OF_CODE,
  type CandidateResultData,
  type CandidateResultsDetails,
} from './results.dto.js';
import { idIn } from './spelled-rules.js';

export const RESULT_SOURCES = ['REGISTRATION', 'ACCOUNT'] as const;
export type ResultSource = (typeof RESULT_SOURCES)[number];

/**
 * The outcome of matching a delivered result. It is the id of the eligibility to whose exam the result belongs, or the
 * problem with which the result is refused.
 */
export type Match = { svcEligibilityId: string } | { refusal: Problem };

const refuse = (refusal: Problem): Match => ({ refusal });

/** The kinds of code that a result's `examCode` may contain, in the order in which the service tries to match them. */
const CODES = ['svc_eligiblity_id', 'booking_code', 'client_eligibility_id'] as const;

/** A registration to which a member of the result refers, with the registration's current `status`. */
export interface FoundRegistration {
  by: (typeof CODES)[number] | 'locator' | 'test_and_email';
  svc_eligiblity_id: string;
  status: EligibilityStatus;
  /** The record locator of the registration, in the form of {@link locatorKey}. */
  locator_key: string | null;
}

/** Returns the key by which record locators are compared regardless of case. */
export function locatorKey(locator: string): string {
  return locator.toLowerCase();
}

/**
 * Returns the registration of a result, or a refusal. A registration is never chosen by people's names, because a wrong
 * match is worse than a refusal.
 */
export function matchRegistration(found: readonly FoundRegistration[], locator: string | null): Match {
  const open = found.filter(({ status }) => status !== 'CANCELLED');
  const foundBy = (way: FoundRegistration['by']) => open.filter(({ by }) => by === way);
  const byCode = CODES.map(foundBy).find((registrations) => registrations.length > 0) ?? [];
  const byLocator = foundBy('locator');
  if (byCode.length > 1) return refuse(registrationAmbiguous);
  const [coded] = byCode;
  if (coded && byLocator.length > 0 && !byLocator.some((one) => one.svc_eligiblity_id === coded.svc_eligiblity_id))
    return refuse(registrationMismatch);
  if (!coded && byLocator.length > 1) return refuse(registrationAmbiguous);
  const live = foundBy('test_and_email').filter(({ status }) => ACTIVE_STATUSES.includes(status));
  const matched = coded ?? byLocator[0] ?? (live.length === 1 ? live[0] : undefined);
  if (!matched) return refuse(live.length > 1 ? registrationAmbiguous : registrationNotFound);
  if (locator !== null && matched.locator_key !== null && matched.locator_key !== locatorKey(locator))
    return refuse(registrationMismatch);
  return { svcEligibilityId: matched.svc_eligiblity_id };
}

/** An exam of the candidate whom the result names, with the exam's current `status`. */
export interface CandidateExam {
  svc_eligiblity_id: string;
  status: EligibilityStatus;
  /** The start time of the exam, from the open booking or from the booking under which the exam was taken. */
  booking_on: Date | null;
  has_account_result: boolean;
}

const UNBOOKED: readonly EligibilityStatus[] = ['ELIGIBLE', 'PENDING', 'EXPIRED', 'ABSENT'];

/**
 * Returns the candidate's exam that waits for an account result, or a refusal. Exams are considered in this order:
 * exams that were taken, booked exams whose time has passed, other booked exams, and exams without a booking.
 */
export function matchCandidateExam(exams: readonly CandidateExam[], now: Date): Match {
  const waiting = exams.filter((exam) => !exam.has_account_result);
  const isPast = ({ booking_on }: CandidateExam) => booking_on !== null && booking_on <= now;
  const booked = waiting.filter(({ status }) => status === 'SCHEDULED');
  const groups = [waiting.filter(({ status }) => status === 'COMPLETED'), booked.filter(isPast), booked];
  const group = groups.find((some) => some.length > 0);
  if (group) {
    const latest = Math.max(...group.map(timeOf));
    const [exam, tied] = group.filter((one) => timeOf(one) === latest);
    return tied ? refuse(candidateExamAmbiguous) : { svcEligibilityId: exam.svc_eligiblity_id };
  }
  const [exam, another] = waiting.filter(({ status }) => UNBOOKED.includes(status));
  if (!exam) return refuse(candidateExamNotFound);
  return another ? refuse(candidateExamAmbiguous) : { svcEligibilityId: exam.svc_eligiblity_id };
}

function timeOf({ booking_on }: CandidateExam): number {
  return booking_on?.getTime() ?? 0;
}

/**
 * Returns the exam for which the `result_id` was accepted before. Refuses a result that names a candidate other than
 * the exam's candidate.
 */
export function matchResultId(
  seen: { svc_eligiblity_id: string; candidate_id: string },
  candidateId: string | null,
): Match {
  return candidateId === null || candidateId === seen.candidate_id
    ? { svcEligibilityId: seen.svc_eligiblity_id }
    : refuse(resultIdConflict);
}

/**
 * The members of a registration result that decide how the result is handled. A member with an empty string, or with a
 * value of the wrong type, counts as omitted.
 */
export interface RegistrationFacts {
  examCode: string | null;
  locator: string | null;
  email: string | null;
  simulated: boolean;
}

/** The members of a result that name its exam. Only registration results have them. */
export type NamedExam = Pick<RegistrationFacts, 'examCode' | 'locator'>;

export function registrationFacts({
  examMetaData,
  examApiData,
  examTakerEmail,
}: CandidateResultsDetails): RegistrationFacts {
  return {
    examCode: idIn(examMetaData?.examCode, MOST_LETTERS_OF_CODE) ?? idIn(examApiData?.examCode, MOST_LETTERS_OF_CODE),
    locator: idIn(examMetaData?.extRecordLocator, MOST_LETTERS_OF_CODE),
    email: idIn(examTakerEmail, MOST_LETTERS),
    simulated: isTrue(examMetaData?.simulatedExam),
  };
}

/** The members of an account result by which it is matched with an exam. */
export interface AccountFacts {
  candidateId: string | null;
  resultId: string | null;
}

export function accountFacts({ candidate_id, result_id }: CandidateResultData): AccountFacts {
  return { candidateId: idIn(candidate_id, MOST_LETTERS_OF_CODE), resultId: idIn(result_id, MOST_LETTERS_OF_CODE) };
}

function isTrue(flag: boolean | string | null | undefined): boolean {
  return flag === true || (typeof flag === 'string' && flag.toLowerCase() === 'true');
}
