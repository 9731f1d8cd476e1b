import { Query } from '@nestjs/cqrs';

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
