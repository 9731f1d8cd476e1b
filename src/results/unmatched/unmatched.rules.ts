import type { KeptBody } from '../body/result-body.js';
import type { CandidateResultData, CandidateResultsDetails } from '../body/results.dto.js';
import { accountFacts, registrationFacts, type ResultSource } from '../body/results.rules.js';
import { unmatchedResultAccepted, unmatchedResultNotFound, unmatchedResultSettled } from '../results.errors.js';
import type { UnmatchedResult } from './unmatched-result.entity.js';

/**
 * Returns the unmatched result, if an operator may still accept or reject it.
 * @throws DomainError unmatched_result_not_found, unmatched_result_accepted, unmatched_result_settled
 */
export function assertOpen<Result extends Pick<UnmatchedResult, 'accepted_datetime' | 'settled_by'>>(
  result: Result | null,
): Result {
  if (result === null) throw unmatchedResultNotFound.error();
  if (result.accepted_datetime === null) return result;
  throw (result.settled_by === 'MATCHED' ? unmatchedResultSettled : unmatchedResultAccepted).error();
}

/** Returns the members of a stored body that decide with which exam it is matched. */
export function factsOf(
  source: ResultSource,
  body: KeptBody,
): {
  locator: string | null;
  resultId: string | null;
  simulated: boolean;
} {
  const value = JSON.parse(body.text.toString('utf8')) as unknown;
  if (source === 'ACCOUNT')
    return { locator: null, simulated: false, resultId: accountFacts(value as CandidateResultData).resultId };
  const { locator, simulated } = registrationFacts(value as CandidateResultsDetails);
  return { locator, simulated, resultId: null };
}
