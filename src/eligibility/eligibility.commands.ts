import { Command } from '@nestjs/cqrs';
import type { AllowedAccounts } from '../platform/context/caller.js';
import type { DomainError } from '../platform/errors.js';
import type { Faults } from '../platform/validation/faults.js';
import type { EligibilityModel } from './eligibility-model.fields.js';
import type { NewEligibility } from './eligibility.columns.js';
import type { Eligibility } from './eligibility.entity.js';
import type { RetakePolicy } from '../accounts/accounts.commands.js';
import type { EligibilityState } from './eligibility.fields.js';

/** An eligibility record, with the members of its test that are part of booking events. */
export interface BookedEligibility extends Eligibility {
  exam_code: string | null;
  duration_minutes: number | null;
  change_cutoff_hours: number | null;
  retake: RetakePolicy | null;
  /** The portions of the record with their names, in the order in which the record lists them. */
  exam_portions: { portion_code: string; portion_name: string | null }[];
}

/**
 * Creates an eligibility record. `faults` contains the faults that the validation of the body has found. The handler
 * adds its own faults, and refuses the request if there are any.
 */
export class CreateEligibility extends Command<Eligibility> {
  constructor(
    readonly accountCode: string,
    readonly body: EligibilityModel,
    readonly faults: Faults,
  ) {
    super();
  }
}

/** The body of a request for a new record, and the faults that the validation of the body has found. */
export interface NewRecord {
  readonly body: EligibilityModel;
  readonly faults: Faults;
}

/**
 * The result of a creation: the id of the new record, or an error. OBSTRUCTED means that another record may block the
 * creation. In this case, a separate {@link CreateEligibility} must decide.
 */
export type Creation = { readonly created: string } | 'OBSTRUCTED' | DomainError;

/**
 * The results of {@link JudgeCreations}, in the order of the bodies. Each creation is either refused or ready to be
 * written. Only handlers of the eligibility module read this object.
 */
export interface JudgedCreations {
  readonly answers: readonly (NewEligibility | DomainError)[];
  /** The parameter of the statement that will write the accepted records. */
  readonly values: [string];
}

/**
 * Checks the bodies of new records, like {@link CreateEligibility}. The bodies must have no vouchers, and must be about
 * different records. Nothing is written.
 */
export class JudgeCreations extends Command<JudgedCreations> {
  constructor(
    readonly accountCode: string,
    readonly asked: readonly NewRecord[],
  ) {
    super();
  }
}

/** Writes the records that {@link JudgeCreations} has just accepted, in one statement. */
export class CreateEligibilities extends Command<Creation[]> {
  constructor(readonly judged: JudgedCreations) {
    super();
  }
}

/** The values that a line of an import file has in addition to the members of a request's body. */
export interface LineOfFile {
  /** The id of the eligibility record that the line names; null if it names none. */
  readonly svcEligibilityId: string | null;
  /**
   * The attributes in a line of a CSV file. The value null clears an attribute. Attributes that the line does not name
   * stay unchanged. The list is null if the body contains all attributes.
   */
  readonly attributes: readonly { readonly key: string; readonly value: string | null }[] | null;
}

/**
 * Changes an eligibility record.
 * @throws DomainError record_differs when a line of an import file names one record, but the candidate and test of the
 * line identify another record
 */
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

/** The ids by which a cancellation identifies its record; null for an id that is absent. */
export interface NamedRecord {
  readonly svcEligibilityId: string | null;
  readonly clientEligibilityId: string | null;
}

/**
 * Cancels an eligibility record, and returns its id.
 * @throws DomainError record_differs when the cancellation names one record, but its candidate and test identify
 * another record
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
 * Replaces the vouchers of a record. The parameters are the voucher codes, the JSON Pointer to their list in the body,
 * and `faults` as in {@link CreateEligibility}.
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
 * Declines the requested accommodations of a record. The record stays PENDING, and its status message gives the reason.
 * @throws DomainError forbidden_operation when no approval is pending
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
 * Marks the active eligibility as SCHEDULED for a booking, in the current transaction. All records of the candidate
 * stay locked, so that concurrent bookings see each other.
 * @throws DomainError not_eligible_to_schedule, booking_overlaps, retake_not_allowed, eligibility_not_found
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

/** The members of a locked record that the {@link LockEligibility} command returns. */
export type LockedEligibility = Pick<
  Eligibility,
  'svc_eligiblity_id' | 'account_code' | 'candidate_id' | 'test_code' | 'erased_datetime'
> &
  EligibilityState;

/**
 * Locks an eligibility record until the current transaction ends. Returns null if the record is outside the accounts in
 * `allowedAccounts`. A command that changes the booking or the results of a record locks the record first, so that no
 * deadlock is possible.
 */
export class LockEligibility extends Command<LockedEligibility | null> {
  constructor(
    readonly svcEligibilityId: string,
    readonly allowedAccounts: AllowedAccounts,
  ) {
    super();
  }
}

/** Locks all eligibility records of a candidate until the current transaction ends. */
export class LockEligibilitiesOfCandidate extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly candidateId: string,
  ) {
    super();
  }
}

/** A change to a record's newest booking, after which the record itself must be updated. */
export type BookingOutcome =
  | { kind: 'moved'; bookingOn: Date; allowOverlap: boolean }
  | { kind: 'cancelled' }
  | { kind: 'excused absence' }
  | { kind: 'absence' };

/**
 * Updates the eligibility record after a change to its newest booking, in the current transaction. The record stays
 * locked. Before a booking is moved, all records of the candidate must be locked.
 * @throws DomainError not_eligible_to_schedule when the new time is outside the window; booking_overlaps when another
 * booking overlaps the new time; forbidden_operation when an absence is excused, but the candidate already has a newer
 * eligibility
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
 * Marks the eligibility record as COMPLETED after an accepted result, in the current transaction. Returns null if the
 * record was already COMPLETED.
 */
export class CompleteEligibility extends Command<BookedEligibility | null> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}
