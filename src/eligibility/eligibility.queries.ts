import { Query } from '@nestjs/cqrs';

export { candidateNotFound, eligibilityNotFound } from './eligibility.errors.js';
export { statusAt, type EligibilityState, type EligibilityStatus } from './eligibility.rules.js';
import type { Eligibility } from './eligibility.entity.js';
import type { EligibilityStatus } from './eligibility.rules.js';

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
