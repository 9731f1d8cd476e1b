import { Command } from '@nestjs/cqrs';
import type { Reach } from '../platform/context/caller.js';
import type { DomainError } from '../platform/errors.js';
import type { Faults } from '../platform/validation/faults.js';
import type { EligibilityModel } from './eligibility-model.fields.js';
import type { NewEligibility } from './eligibility.columns.js';
import type { Eligibility } from './eligibility.entity.js';
import type { EligibilityState } from './eligibility.fields.js';

/** A record, and the members of its test that a booking event has. */
export interface BookedEligibility extends Eligibility {
  exam_code: string | null;
  duration_minutes: number | null;
  change_cutoff_hours: number | null;
  /** The record's portions, with their names, in its order. */
  exam_portions: { portion_code: string; portion_name: string | null }[];
}

/** `faults` are those that the form of the body has already; the handler adds its own and refuses with all of them. */
export class CreateEligibility extends Command<Eligibility> {
  constructor(
    readonly accountCode: string,
    readonly body: EligibilityModel,
    readonly faults: Faults,
  ) {
    super();
  }
}

/** The members of a body, with the faults that its form has already. */
export interface NewRecord {
  readonly body: EligibilityModel;
  readonly faults: Faults;
}

/** The outcome: refused by the error; obstructed where another record may block it, which a create of its own finds out. */
export type Creation = { readonly created: string } | 'OBSTRUCTED' | DomainError;

/** Creations that were judged, in their order: each is refused, or ready to be written. Its handlers alone look into it. */
export interface JudgedCreations {
  readonly answers: readonly (NewEligibility | DomainError)[];
  /** The values of the statement that writes those that are ready. */
  readonly values: [string];
}

/** Judges bodies without vouchers, no two of them about the same record, as {@link CreateEligibility} does. Writes nothing. */
export class JudgeCreations extends Command<JudgedCreations> {
  constructor(
    readonly accountCode: string,
    readonly asked: readonly NewRecord[],
  ) {
    super();
  }
}

/** Writes what was judged a moment before, by one statement. */
export class CreateEligibilities extends Command<Creation[]> {
  constructor(readonly judged: JudgedCreations) {
    super();
  }
}

/** The values that a line of a file has beyond the body of a single call. */
export interface LineOfFile {
  /** The record that the line means; null when it names none. */
  readonly svcEligibilityId: string | null;
  /**
   * Of a line of cells: the attributes that it says, null for one that it clears; attributes that it does not say are left. Null
   * where the body says all of them.
   */
  readonly attributes: readonly { readonly key: string; readonly value: string | null }[] | null;
}

/** @throws DomainError record_differs when the line means another record than the one that is there */
export class UpdateEligibility extends Command<{ record: string; changed: boolean }> {
  constructor(
    readonly accountCode: string,
    readonly candidateId: string,
    readonly testCode: string,
    readonly body: EligibilityModel,
    readonly faults: Faults,
    readonly line: LineOfFile | null = null,
  ) {
    super();
  }
}

/** The ids by which a cancellation names its record; null where it does not. */
export interface NamedRecord {
  readonly svcEligibilityId: string | null;
  readonly clientEligibilityId: string | null;
}

/** Answers with the id of the record. @throws DomainError record_differs when another record than the named one is there */
export class CancelEligibility extends Command<string> {
  constructor(
    readonly accountCode: string,
    readonly candidateId: string,
    readonly testCode: string,
    readonly named: NamedRecord | null = null,
  ) {
    super();
  }
}

/** The codes and the pointer to their list in the body. `faults` as those of {@link CreateEligibility}. */
export class ReplaceVouchers extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly candidateId: string,
    readonly testCode: string,
    readonly voucherCodes: string[],
    readonly pointer: string,
    readonly faults: Faults,
  ) {
    super();
  }
}

export class HoldEligibility extends Command<void> {
  constructor(
    readonly svcEligibilityId: string,
    readonly reason: string,
  ) {
    super();
  }
}

export class ReleaseHold extends Command<void> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}

export class ApproveAccommodations extends Command<void> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}

/** The record stays PENDING, and its message says why. @throws DomainError forbidden_operation when no approval is pending */
export class DeclineAccommodations extends Command<void> {
  constructor(
    readonly svcEligibilityId: string,
    readonly reason: string,
  ) {
    super();
  }
}

/**
 * Takes the live eligibility for a booking: SCHEDULED from here on. In the caller's transaction; the record stays locked.
 * All records of the candidate stay locked, so that two bookings at once see each other.
 * @throws DomainError not_eligible_to_schedule, booking_overlaps, eligibility_not_found
 */
export class ScheduleEligibility extends Command<BookedEligibility> {
  constructor(
    readonly accountCode: string,
    readonly candidateId: string,
    readonly testCode: string,
    readonly bookingCode: string,
    readonly bookingOn: Date,
    readonly allowOverlap: boolean,
  ) {
    super();
  }
}

/** A record that is held by the caller's transaction. */
export type LockedEligibility = Pick<
  Eligibility,
  'svc_eligiblity_id' | 'account_code' | 'candidate_id' | 'test_code' | 'erased_datetime'
> &
  EligibilityState;

/**
 * Holds the record until the caller's transaction ends; null when the caller may not see one. A command that changes what
 * belongs to a record (its booking, its results) locks the record first, so that no two commands wait for each other.
 */
export class LockEligibility extends Command<LockedEligibility | null> {
  constructor(
    readonly svcEligibilityId: string,
    readonly reach: Reach,
  ) {
    super();
  }
}

/** Holds all records of a candidate until the caller's transaction ends. */
export class LockEligibilitiesOfCandidate extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly candidateId: string,
  ) {
    super();
  }
}

/** The outcomes that the open booking of a record may have. */
export type BookingOutcome =
  | { kind: 'moved'; bookingOn: Date; allowOverlap: boolean }
  | { kind: 'cancelled' }
  | { kind: 'excused absence' }
  | { kind: 'absence' };

/**
 * Follows the fate of the newest booking. In the caller's transaction; the record stays locked. To move a booking the caller
 * holds all records of the candidate.
 * @throws DomainError not_eligible_to_schedule when the booking is moved out of the window, booking_overlaps when it is moved
 * to a time that another one has, forbidden_operation when an absence is excused that a newer eligibility has superseded
 */
export class FollowBooking extends Command<BookedEligibility> {
  constructor(
    readonly svcEligibilityId: string,
    readonly outcome: BookingOutcome,
  ) {
    super();
  }
}

/** A result was accepted: COMPLETED. In the caller's transaction; null when the record was COMPLETED before. */
export class CompleteEligibility extends Command<BookedEligibility | null> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}
