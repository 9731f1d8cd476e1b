import { Command } from '@nestjs/cqrs';
import type { DomainError } from '../platform/errors.js';

/** A result as it was delivered: its body as it came, and by whom. */
export interface DeliveredBody {
  readonly bytes: Buffer | undefined;
  readonly username: string;
  /** The error of the request that does not depend on its body: the body is kept. */
  readonly refusal?: DomainError;
  /** The bytes are not JSON, or nothing says that they are: they are not parsed. */
  readonly isOpaque?: boolean;
}

/**
 * @throws DomainError payload_too_large; unsupported_media_type, malformed_json, validation_error, registration_mismatch,
 *   registration_ambiguous, registration_not_found: the result is kept for an operator then
 */
export class DeliverRegistrationResult extends Command<void> {
  constructor(
    readonly delivered: DeliveredBody,
    /** Where the caller may deliver; null: everywhere. */
    readonly accountCodes: string[] | null,
  ) {
    super();
  }
}

/**
 * @throws DomainError payload_too_large; unsupported_media_type, malformed_json, validation_error, result_id_conflict,
 *   candidate_exam_not_found, candidate_exam_ambiguous: the result is kept for an operator then
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
 * An operator says whose result it is: by the code of a booking or the id of an eligibility.
 * @throws DomainError unmatched_result_not_found, unmatched_result_accepted, unmatched_result_settled, booking_not_found,
 *   eligibility_not_found, forbidden_operation
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
 * An operator says that it belongs to no exam: it is kept until its time is over, and waits for nobody any more.
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

/** Removes results that no exam was found for: an operator says that they are of a person who was erased. */
export class EraseUnmatchedResults extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly ids: readonly string[],
  ) {
    super();
  }
}

/** Takes photos or video links of an account's results away that came before the moment. Returns how many. */
export class ForgetMedia extends Command<number> {
  constructor(
    readonly accountCode: string,
    readonly media: 'photo' | 'video_link',
    readonly before: Date,
  ) {
    super();
  }
}
