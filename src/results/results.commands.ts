import { Command } from '@nestjs/cqrs';
import type { KeptBody } from './result-body.js';
import type { AccountFacts, RegistrationFacts } from './results.rules.js';

/** A result as it was delivered. */
export interface Delivery {
  readonly body: KeptBody;
  /** Who delivered it, and when. */
  readonly username: string;
  readonly receivedAt: Date;
}

/**
 * @throws DomainError registration_mismatch, registration_ambiguous, registration_not_found; the result is kept for an
 *   operator then
 */
export class DeliverRegistrationResult extends Command<void> {
  constructor(
    readonly delivery: Delivery,
    readonly facts: RegistrationFacts,
    /** Where the caller may deliver; null: everywhere. */
    readonly accountCodes: string[] | null,
  ) {
    super();
  }
}

/**
 * @throws DomainError result_id_conflict, candidate_exam_not_found, candidate_exam_ambiguous; the result is kept for an
 *   operator then
 */
export class DeliverAccountResult extends Command<void> {
  constructor(
    readonly delivery: Delivery,
    readonly facts: AccountFacts,
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
