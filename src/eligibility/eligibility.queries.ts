import { Query } from '@nestjs/cqrs';

import type { ShownEligibility } from './eligibility.columns.js';
import type { EligibilityResponseModel } from './eligibility-model.fields.js';
import type { Eligibility } from './eligibility.entity.js';
import type { OperatorEligibilityModel } from './operator-record.fields.js';
import type { FoundEligibilityModel } from './search.fields.js';

export type { Eligibility };

/** The members of an eligibility record that are needed to launch its test. */
export interface LaunchSubject {
  svc_eligiblity_id: string;
  account_code: string;
  candidate_id: string;
  test_code: string;
  booking_code: string | null;
  /** The address at which the test is launched; null if the record does not allow a launch at the given time. */
  launch_url: string | null;
  /** Whether an operator has put the record on hold. The test can be launched after the hold is released. */
  held: boolean;
  /**
   * The earliest time at which a booked exam can be launched. Null if there is no booking, or if the test does not
   * limit how early its exams can be launched.
   */
  available_from: Date | null;
}

/** Asks for the record with the given id, in its state at the time `now`; null if the record does not exist. */
export class FindLaunchSubject extends Query<LaunchSubject | null> {
  constructor(
    readonly svcEligibilityId: string,
    readonly now: Date,
  ) {
    super();
  }
}

/**
 * Asks for the eligibility records of a candidate, newest first.
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
 * Asks for the eligibility records that a candidate has for a test, newest first.
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
 * Asks for the eligibility record with the given id.
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

/** Asks which of the given ids belong to eligibility records of the account. */
export class FindKnownRecords extends Query<string[]> {
  constructor(
    readonly accountCode: string,
    readonly svcEligibilityIds: readonly string[],
  ) {
    super();
  }
}

/**
 * An eligibility record in an export, with the members that clients read, and the members that only an export contains.
 */
export interface ExportedEligibility {
  position: number;
  registration_mode: string | null;
  model: EligibilityResponseModel;
}

/**
 * Asks for a batch of an account's records, newest first. The batch has at most `take` records, all older than the
 * position `before`. If `before` is null, the batch begins with the newest record.
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
 * Asks for a batch of dormant candidates. All records of a dormant candidate have been closed and unchanged since the
 * given time. The batch begins after the candidate id `after`. `next` is the id after which the next batch begins; null
 * after the last batch.
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
 * Searches records for operators. Records with the given ids come first, in the order of the ids. The records that
 * match the text follow. A record matches if one of its ids, its e-mail address or its postal code begins with the
 * text. A record also matches if its name contains each word of the text, or if its telephone number ends with the
 * digits of the text. Matching records are sorted by the kind of match, and then by the value that matches. The first
 * `skip` records are left out, and at most `take` records are returned.
 */
export class SearchEligibilities extends Query<FoundEligibilityModel[]> {
  constructor(
    /** The accounts whose eligibility records are searched; null for all accounts. */
    readonly accountCodes: readonly string[] | null,
    readonly text: string,
    readonly ids: string[],
    readonly skip: number,
    readonly take: number,
  ) {
    super();
  }
}

/** Asks for the given eligibility records as operators see them, in no particular order. Unknown ids are omitted. */
export class FindOperatorRecords extends Query<OperatorEligibilityModel[]> {
  constructor(readonly svcEligibilityIds: readonly string[]) {
    super();
  }
}

/** The number of an account's records that wait for an operator's decision. */
export interface WaitingCount {
  readonly account_code: string;
  readonly approvals: number;
  readonly holds: number;
  /** A value that changes when the set of waiting records changes, even if their number stays the same. */
  readonly which: string;
}

/**
 * Asks how many records wait for an operator's decision, in all accounts. At most 10,000 records are counted for each
 * kind of decision.
 */
export class CountWaiting extends Query<WaitingCount[]> {}

/** The records of an account that have waited too long for the approval of accommodations. */
export interface OverdueApprovals {
  readonly account_code: string;
  readonly count: number;
  readonly oldest: Date;
  readonly newest: Date;
}

/** Asks for the records that have waited for an approval for more than the given number of hours, in all accounts. */
export class SurveyOverdueApprovals extends Query<OverdueApprovals[]> {
  constructor(readonly hours: number) {
    super();
  }
}
