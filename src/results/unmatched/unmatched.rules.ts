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
