import { Query } from '@nestjs/cqrs';

import type { ShownEligibility } from './eligibility.columns.js';
import type { EligibilityResponseModel } from './eligibility-model.fields.js';
import type { Eligibility } from './eligibility.entity.js';
import type { OperatorEligibilityModel } from './operator-record.fields.js';
import type { FoundEligibilityModel } from './search.fields.js';

export type { Eligibility };

/** The members of a record that are needed to launch its test. */
export interface LaunchSubject {
  svc_eligiblity_id: string;
  account_code: string;
  candidate_id: string;
  test_code: string;
  booking_code: string | null;
  /** The address of the test; null if the record cannot be launched at the given time. */
  launch_url: string | null;
  /** Whether an operator holds the record, which can be launched after its release. */
  held: boolean;
  /** The earliest launch time of a booked exam, if the test defines one; null without a booking. */
  available_from: Date | null;
}

/** Asks for the record with this id, as it can be launched at the time `now`; null if there is no such record. */
export class FindLaunchSubject extends Query<LaunchSubject | null> {
  constructor(
    readonly svcEligibilityId: string,
    readonly now: Date,
  ) {
    super();
  }
}

/**
 * Asks for the records of a candidate, newest first.
 * @throws DomainError candidate_not_found
 */
export class FindEligibilities extends Query<Eligibility[]> {
  constructor(
    readonly accountCode: string,
    readonly candidateId: string,
  ) {
    super();
  }
}

/**
 * Asks for the records that a candidate has for a test, newest first.
 * @throws DomainError candidate_not_found, eligibility_not_found
 */
export class FindEligibilitiesOfTest extends Query<ShownEligibility[]> {
  constructor(
    readonly accountCode: string,
    readonly candidateId: string,
    readonly testCode: string,
  ) {
    super();
  }
}

/**
 * Asks for the record with this id.
 * @throws DomainError eligibility_not_found, also for a record of another account
 */
export class GetEligibility extends Query<Eligibility> {
  constructor(
    readonly accountCode: string,
    readonly svcEligibilityId: string,
  ) {
    super();
  }
}

/** Asks which of the ids belong to records of the account. */
export class FindKnownRecords extends Query<string[]> {
  constructor(
    readonly accountCode: string,
    readonly svcEligibilityIds: readonly string[],
  ) {
    super();
  }
}

/** A record with the members that clients read, and those that only an export contains. */
export interface ExportedEligibility {
  position: number;
  registration_mode: string | null;
  model: EligibilityResponseModel;
}

/**
 * Asks for a batch of an account's records, newest first: at most `take` records older than the given position; null
 * begins with the newest.
 */
export class ReadEligibilities extends Query<ExportedEligibility[]> {
  constructor(
    readonly accountCode: string,
    readonly before: number | null,
    readonly take: number,
  ) {
    super();
  }
}

/**
 * Asks for a batch of dormant candidates: all their records have been closed and unchanged since the given time. The
 * batch begins after the candidate id `after`. `next` is the start of the next batch; null after the last batch.
 */
export class FindDormantCandidates extends Query<{ candidateIds: string[]; next: string | null }> {
  constructor(
    readonly accountCode: string,
    readonly since: Date,
    readonly after: string,
  ) {
    super();
  }
}

/**
 * Searches records for operators. First come the records with the given ids, in their order. Records follow whose
 * candidate_id, e-mail address, client_eligibility_id, own id or postal code begins with the text, whose name has each of
 * its words, or whose telephone number ends with its digits. They are sorted by the matching member and its value. The result contains at least the first `skip + take` records.
 */
export class SearchEligibilities extends Query<FoundEligibilityModel[]> {
  constructor(
    /** The accounts to search; null for all accounts. */
    readonly accountCodes: readonly string[] | null,
    readonly text: string,
    readonly ids: string[],
    readonly skip: number,
    readonly take: number,
  ) {
    super();
  }
}

/** Asks for the operators' view of these records, in no particular order. Unknown ids are omitted. */
export class FindOperatorRecords extends Query<OperatorEligibilityModel[]> {
  constructor(readonly svcEligibilityIds: readonly string[]) {
    super();
  }
}

/** The number of an account's records that wait for a decision by an operator. */
export interface WaitingCount {
  readonly account_code: string;
  readonly approvals: number;
  readonly holds: number;
  /** A value that changes when different records wait, even if their number is the same. */
  readonly which: string;
}

/** Asks for the counts of waiting records in all accounts. Each kind is counted up to 10,000. */
export class CountWaiting extends Query<WaitingCount[]> {}
