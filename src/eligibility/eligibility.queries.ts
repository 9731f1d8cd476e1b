import { Query } from '@nestjs/cqrs';

export { candidateNotFound, eligibilityNotFound } from './eligibility.errors.js';
export { statusAt, type EligibilityState, type EligibilityStatus } from './eligibility.rules.js';
import type { Eligibility } from './eligibility.entity.js';
import type { EligibilityStatus } from './eligibility.rules.js';

/** What a booking event tells of the test of an eligibility. */
export interface ExamDescription {
  exam_code: string | null;
  /** The eligibility's portions, with their names, in its order. */
  exam_portions: { portion_code: string; portion_name: string | null }[];
}

export class DescribeExam extends Query<ExamDescription> {
  constructor(
    readonly accountCode: string,
    readonly testCode: string,
    readonly portionCodes: string[],
  ) {
    super();
  }
}

/** When the exam of an eligibility was last launched; null when it never was. */
export class FindLaunchTime extends Query<Date | null> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}

/**
 * The records of a candidate, newest first; of one test when `testCode` is given, of some statuses when `status` is.
 * @throws DomainError candidate_not_found, eligibility_not_found
 */
export class FindEligibilities extends Query<Eligibility[]> {
  constructor(
    readonly accountCode: string,
    readonly candidateId: string,
    readonly filter: { testCode?: string; statuses?: readonly EligibilityStatus[] } = {},
  ) {
    super();
  }
}
