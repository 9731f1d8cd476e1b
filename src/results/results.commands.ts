import { Command } from '@nestjs/cqrs';

/** A result as it was delivered: its body as it came, and by whom. */
interface Delivered {
  readonly bytes: Buffer | undefined;
  readonly username: string;
}

/**
 * @throws DomainError malformed_json, payload_too_large, validation_error; registration_mismatch, registration_ambiguous,
 *   registration_not_found: the result is kept for an operator then
 */
export class DeliverRegistrationResult extends Command<void> {
  constructor(
    readonly delivered: Delivered,
    /** Where the caller may deliver; null: everywhere. */
    readonly accountCodes: string[] | null,
  ) {
    super();
  }
}

/**
 * @throws DomainError malformed_json, payload_too_large, validation_error; result_id_conflict, candidate_exam_not_found,
 *   candidate_exam_ambiguous: the result is kept for an operator then
 */
export class DeliverAccountResult extends Command<void> {
  constructor(
    readonly delivered: Delivered,
    readonly accountCode: string,
  ) {
    super();
  }
}

/** An operator says whose result it is: by the code of a booking or the id of an eligibility. */
export class AcceptUnmatchedResult extends Command<void> {
  constructor(
    readonly id: string,
    readonly exam: { bookingCode: string } | { svcEligibilityId: string },
  ) {
    super();
  }
}

/**
 * An operator says that it belongs to no exam: it is kept until its time is over, and waits for nobody any more.
 * @throws DomainError unmatched_result_not_found, unmatched_result_accepted
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
