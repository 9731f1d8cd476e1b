import { Command } from '@nestjs/cqrs';
import type { Reach } from '../platform/context/caller.js';
import type { DomainError } from '../platform/errors.js';
import type { Faults } from '../platform/validation/faults.js';
import type { EligibilityModel } from './eligibility-model.fields.js';
import type { NewEligibility } from './eligibility.columns.js';
import type { Eligibility } from './eligibility.entity.js';
import type { EligibilityState } from './eligibility.fields.js';

/** A record with the members of its test that a booking event contains. */
export interface BookedEligibility extends Eligibility {
  exam_code: string | null;
  duration_minutes: number | null;
  change_cutoff_hours: number | null;
  /** The record's portions with their names, in the record's order. */
  exam_portions: { portion_code: string; portion_name: string | null }[];
}

/** Creates a record. `faults` are those of the body's form; the handler adds its own and refuses with all of them. */
export class CreateEligibility extends Command<Eligibility> {
  constructor(
    readonly accountCode: string,
    readonly body: EligibilityModel,
    readonly faults: Faults,
  ) {
    super();
  }
}

/** A body with the faults of its form. */
export interface NewRecord {
  readonly body: EligibilityModel;
  readonly faults: Faults;
}

/** The outcome: an id, an error, or OBSTRUCTED when another record may block it; a separate create then decides. */
export type Creation = { readonly created: string } | 'OBSTRUCTED' | DomainError;

/** Checked creations in order: each is refused or ready to be written. Only its handlers read the content. */
export interface JudgedCreations {
  readonly answers: readonly (NewEligibility | DomainError)[];
  /** The values of the statement that writes the ready records. */
  readonly values: [string];
}

/** Checks bodies without vouchers, each about a different record, like {@link CreateEligibility}. It writes nothing. */
export class JudgeCreations extends Command<JudgedCreations> {
  constructor(
    readonly accountCode: string,
    readonly asked: readonly NewRecord[],
  ) {
    super();
  }
}

/** Writes the records that were just checked, by one statement. */
export class CreateEligibilities extends Command<Creation[]> {
  constructor(readonly judged: JudgedCreations) {
    super();
  }
}

/** The values of a line of a file in addition to the body of a single call. */
export interface LineOfFile {
  /** The id of the record that the line names, or null. */
  readonly svcEligibilityId: string | null;
  /**
   * For a line of cells: the named attributes, with null for a cleared one; other attributes stay. Null when the body
   * contains all attributes.
   */
  readonly attributes: readonly { readonly key: string; readonly value: string | null }[] | null;
}

/** @throws DomainError record_differs when the line names another record than the existing one */
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

/** The ids by which a cancellation names its record, or null. */
export interface NamedRecord {
  readonly svcEligibilityId: string | null;
  readonly clientEligibilityId: string | null;
}

/**
 * Cancels a record and returns its id. @throws DomainError record_differs when the named record is not the existing one
 */
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

/**
 * Replaces the vouchers: the codes, and the pointer to their list in the body. `faults` as in {@link
 * CreateEligibility}.
 */
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

/**
 * Declines accommodations. The record stays PENDING, and its message gives the reason. @throws DomainError
 * forbidden_operation when no approval is pending
 */
export class DeclineAccommodations extends Command<void> {
  constructor(
    readonly svcEligibilityId: string,
    readonly reason: string,
  ) {
    super();
  }
}

/**
 * Marks the live eligibility as SCHEDULED for a booking, in the caller's transaction. All records of the candidate stay
 * locked, so that concurrent bookings see each other.
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

/** A record that the caller's transaction has locked. */
export type LockedEligibility = Pick<
  Eligibility,
  'svc_eligiblity_id' | 'account_code' | 'candidate_id' | 'test_code' | 'erased_datetime'
> &
  EligibilityState;

/**
 * Locks the record until the caller's transaction ends; returns null when the caller may not see the record. A command
 * that changes a record's booking or results locks the record first, so that no deadlock is possible.
 */
export class LockEligibility extends Command<LockedEligibility | null> {
  constructor(
    readonly svcEligibilityId: string,
    readonly reach: Reach,
  ) {
    super();
  }
}

/** Locks all records of a candidate until the caller's transaction ends. */
export class LockEligibilitiesOfCandidate extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly candidateId: string,
  ) {
    super();
  }
}

/** The possible outcomes of a record's open booking. */
export type BookingOutcome =
  | { kind: 'moved'; bookingOn: Date; allowOverlap: boolean }
  | { kind: 'cancelled' }
  | { kind: 'excused absence' }
  | { kind: 'absence' };

/**
 * Updates the record after a change of its newest booking, in the caller's transaction; the record stays locked. For a
 * move, the caller has locked all records of the candidate.
 * @throws DomainError not_eligible_to_schedule when the new time is outside the window; booking_overlaps when another
 *   booking has the time; forbidden_operation when a newer eligibility supersedes an excused absence
 */
export class FollowBooking extends Command<BookedEligibility> {
  constructor(
    readonly svcEligibilityId: string,
    readonly outcome: BookingOutcome,
  ) {
    super();
  }
}

/**
 * Marks the record as COMPLETED after an accepted result, in the caller's transaction; returns null when the record was
 * COMPLETED before.
 */
export class CompleteEligibility extends Command<BookedEligibility | null> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}
