import { Command } from '@nestjs/cqrs';
import type { DomainError } from '../platform/errors.js';
import type { ResultState } from './records/result-state.entity.js';

/** A result as it was delivered: its raw body and its sender. */
export interface DeliveredBody {
  readonly bytes: Buffer | undefined;
  readonly username: string;
  /**
   * An error in the request's path or headers that causes the result to be refused. The result's body is stored
   * nevertheless.
   */
  readonly refusal?: DomainError;
  /** Whether the bytes must not be parsed, because they are not JSON or are not declared as JSON. */
  readonly isOpaque?: boolean;
}

/**
 * Delivers a registration result.
 * @throws DomainError payload_too_large; after the result was stored for an operator: unsupported_media_type,
 * malformed_json, validation_error, registration_mismatch, registration_ambiguous, registration_not_found
 */
export class DeliverRegistrationResult extends Command<void> {
  constructor(
    readonly delivered: DeliveredBody,
    /** The accounts to which the caller may deliver results; null means all. */
    readonly accountCodes: string[] | null,
  ) {
    super();
  }
}

/**
 * Delivers an account result.
 * @throws DomainError payload_too_large; after the result was stored for an operator: unsupported_media_type,
 * malformed_json, validation_error, result_id_conflict, candidate_exam_not_found, candidate_exam_ambiguous
 */
export class DeliverAccountResult extends Command<void> {
  constructor(
    readonly delivered: DeliveredBody,
    readonly accountCode: string,
  ) {
    super();
  }
}

/**
 * Assigns an unmatched result to an exam on behalf of an operator. The operator names the exam by the code of a booking
 * or the id of an eligibility.
 * @throws DomainError unmatched_result_not_found, unmatched_result_accepted, unmatched_result_settled,
 * booking_not_found, eligibility_not_found, forbidden_operation
 */
export class AcceptUnmatchedResult extends Command<void> {
  constructor(
    readonly id: string,
    readonly exam: { bookingCode: string } | { svcEligibilityId: string },
    readonly reason: string | null,
  ) {
    super();
  }
}

/**
 * Rejects an unmatched result on behalf of an operator, because it belongs to no exam. After that, the result no longer
 * waits for an operator. It is kept until its retention period is over.
 * @throws DomainError unmatched_result_not_found, unmatched_result_accepted, unmatched_result_settled
 */
export class RejectUnmatchedResult extends Command<void> {
  constructor(
    readonly id: string,
    readonly reason: string,
  ) {
    super();
  }
}

/**
 * Holds, releases or revokes the result of an exam. The status of the eligibility does not change.
 * @throws DomainError eligibility_not_found; result_not_found if the exam has no result
 */
export class DecideOnResult extends Command<void> {
  constructor(
    readonly svcEligibilityId: string,
    readonly state: ResultState,
    readonly reason: string,
  ) {
    super();
  }
}

/** Deletes unmatched results. An operator has decided that they belong to a candidate whose data is erased. */
export class EraseUnmatchedResults extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly ids: readonly string[],
  ) {
    super();
  }
}

/**
 * Deletes the photos or the video links of an account's results that arrived before the given time. Returns the number
 * of deleted photos or links.
 */
export class ForgetMedia extends Command<number> {
  constructor(
    readonly accountCode: string,
    readonly media: 'photo' | 'video_link',
    readonly before: Date,
  ) {
    super();
  }
}
