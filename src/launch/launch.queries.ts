import { Query } from '@nestjs/cqrs';

/** Asks when the exam of an eligibility was last launched; null if it was never launched. */
export class FindLaunchTime extends Query<Date | null> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}
