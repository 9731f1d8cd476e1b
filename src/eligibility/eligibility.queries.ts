import { Query } from '@nestjs/cqrs';

import type { ShownEligibility } from './eligibility.columns.js';
import type { EligibilityResponseModel } from './eligibility-model.fields.js';
import type { Eligibility } from './eligibility.entity.js';
import type { OperatorEligibilityModel } from './operator-record.fields.js';
import type { FoundEligibilityModel } from './search.fields.js';

export type { Eligibility };

/** The members of a record that the start of a test needs. */
export interface LaunchSubject {
  svc_eligiblity_id: string;
  account_code: string;
  candidate_id: string;
  test_code: string;
  booking_code: string | null;
  /** Where the test is; null when the record cannot be launched at that moment. */
  launch_url: string | null;
  /** Whether an operator holds the record: it can be launched once it is released. */
  held: boolean;
  /** From when a booked exam can be launched, where the test says so; null when it is not booked. */
  available_from: Date | null;
}

/** The record with this id as the start of its test sees it at `now`; null when there is none. */
export class FindLaunchSubject extends Query<LaunchSubject | null> {
  constructor(
    readonly svcEligibilityId: string,
    readonly now: Date,
  ) {
    super();
  }
}

/**
 * The records of a candidate, newest first.
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
 * The records of a candidate for a test, newest first.
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
 * The record with this id.
 * @throws DomainError eligibility_not_found, for one of another account too
 */
export class GetEligibility extends Query<Eligibility> {
  constructor(
    readonly accountCode: string,
    readonly svcEligibilityId: string,
  ) {
    super();
  }
}

/** Of the ids, those that are a record's of the account. */
export class FindKnownRecords extends Query<string[]> {
  constructor(
    readonly accountCode: string,
    readonly svcEligibilityIds: readonly string[],
  ) {
    super();
  }
}

/** A record as clients read it, with what only an export tells. */
export interface ExportedEligibility {
  position: number;
  registration_mode: string | null;
  model: EligibilityResponseModel;
}

/** A stretch of an account's records, newest first: those before the position (null: the newest), at most `take`. */
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
 * Candidates none of whose records has been open or changed since that moment: of those whose ids come after `after`, a stretch
 * of the account. `next` is where the next stretch begins; null after the last one.
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
 * Records with these ids, of which at least the first `skip + take` are given, in their order; then those whose candidate_id,
 * name, e-mail address, client_eligibility_id or own id begins with the prefix, in any case, by what was found and its value.
 */
export class SearchEligibilities extends Query<FoundEligibilityModel[]> {
  constructor(
    /** Null: all accounts. */
    readonly accountCodes: readonly string[] | null,
    readonly prefix: string,
    readonly ids: string[],
    readonly skip: number,
    readonly take: number,
  ) {
    super();
  }
}

/** The records with these ids as operators work on them, in no order; what is not there is left out. */
export class FindOperatorRecords extends Query<OperatorEligibilityModel[]> {
  constructor(readonly svcEligibilityIds: readonly string[]) {
    super();
  }
}

/** Records of an account that wait for an operator. */
export interface WaitingCount {
  readonly account_code: string;
  readonly approvals: number;
  readonly holds: number;
  /** Another when others wait in their place. */
  readonly which: string;
}

/** Of all accounts; each kind counted up to 10,000. */
export class CountWaiting extends Query<WaitingCount[]> {}
