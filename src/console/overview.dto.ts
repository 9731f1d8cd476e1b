import { ApiProperty } from '@nestjs/swagger';
import { PartnerConditionModel } from '../notifications/partner-condition.fields.js';
import { Field, ObjectField, ObjectListField } from '../platform/validation/fields.js';
import { dateTime, integer } from '../platform/validation/rules.js';

const count = integer(0, Number.MAX_SAFE_INTEGER);

export const HOURS = 24;
export const MOST_ATTENTION = 50;
export const MOST_JOBS = 20;

class ExamIn {
  @Field(count, { required: true, description: 'The exam has begun.' })
  past: number;

  @Field(count, { required: true })
  '2h': number;

  @Field(count, { required: true })
  '24h': number;

  @Field(count, { required: true })
  '7d': number;

  @Field(count, { required: true })
  later: number;
}

class Undelivered {
  @Field(count, { required: true })
  total: number;

  @Field(dateTime(), { always: true, description: 'The creation time of the oldest undelivered notification.' })
  oldest_created_datetime: string | null;

  @ObjectField(() => ExamIn, {
    required: true,
    description: 'The numbers by the time left until the exam. Each notification is counted once.',
  })
  exam_in: ExamIn;
}

class PartnerCounts {
  @Field(count, {
    required: true,
    description: 'Partners that are ACTIVE, UP and not failing, and whose certificate remains valid.',
  })
  well: number;

  @Field(count, { required: true })
  down: number;

  @Field(count, {
    required: true,
    description: 'Partners that are ACTIVE and UP, but whose recent attempts have all failed.',
  })
  failing: number;

  @Field(count, { required: true })
  suspended: number;

  @Field(count, { required: true })
  unverified: number;

  @Field(count, { required: true, description: 'Partners whose certificate expires within 14 days or has expired.' })
  certificate_ends: number;
}

class OverviewHour {
  @Field(dateTime(), { required: true })
  from: string;

  @Field(count, { required: true })
  delivered: number;

  @Field(count, { required: true })
  failed: number;
}

/** The overview of the work that waits for an operator. */
export class OverviewModel {
  @Field(dateTime(), {
    required: true,
    description: 'The time of the count. On a busy service, it can be some seconds ago.',
  })
  at: string;

  @ObjectField(() => Undelivered, { required: true })
  undelivered: Undelivered;

  @ObjectField(() => PartnerCounts, { required: true })
  partners: PartnerCounts;

  @ObjectListField(() => PartnerConditionModel, MOST_ATTENTION, {
    required: true,
    description: `At most ${MOST_ATTENTION} partners with problems, in this order: DOWN, failing, certificate about to expire, suspended, unverified.`,
  })
  attention: PartnerConditionModel[];

  @ObjectListField(() => OverviewHour, HOURS, {
    required: true,
    description: 'Attempts of the last 24 hours, the oldest hour first.',
  })
  hours: OverviewHour[];

  @Field(count, { required: true, description: 'Number of unmatched results, counted up to 10,000.' })
  unmatched_results: number;

  @Field(count, {
    required: true,
    description: 'Number of records whose accommodations wait for approval, counted up to 10,000.',
  })
  approvals: number;

  @Field(count, { required: true, description: 'Number of records on hold, counted up to 10,000.' })
  holds: number;

  @ApiProperty({
    type: 'array',
    items: { $ref: '#/components/schemas/JobModel' },
    maxItems: MOST_JOBS,
    description: 'Bulk jobs that have not ended, newest first.',
  })
  jobs: object[];
}
