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

  @Field(dateTime(), { always: true, description: 'When the oldest of them was made.' })
  oldest_created_datetime: string | null;

  @ObjectField(() => ExamIn, { required: true, description: 'By the time left until the exam; each in one.' })
  exam_in: ExamIn;
}

class PartnerCounts {
  @Field(count, { required: true, description: 'ACTIVE, UP, not failing, with a certificate that lasts.' })
  well: number;

  @Field(count, { required: true })
  down: number;

  @Field(count, { required: true, description: 'ACTIVE and UP, and every recent attempt failed.' })
  failing: number;

  @Field(count, { required: true })
  suspended: number;

  @Field(count, { required: true })
  unverified: number;

  @Field(count, { required: true, description: 'Partners with a certificate that ends within 14 days, or has ended.' })
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
  @Field(dateTime(), { required: true, description: 'When it was counted: seconds ago, on a busy service.' })
  at: string;

  @ObjectField(() => Undelivered, { required: true })
  undelivered: Undelivered;

  @ObjectField(() => PartnerCounts, { required: true })
  partners: PartnerCounts;

  @ObjectListField(() => PartnerConditionModel, MOST_ATTENTION, {
    required: true,
    description: `Partners that are not well, at most ${MOST_ATTENTION}: DOWN first, then failing, with an ending certificate, suspended, unverified.`,
  })
  attention: PartnerConditionModel[];

  @ObjectListField(() => OverviewHour, HOURS, {
    required: true,
    description: 'Attempts of the last 24 hours, the oldest hour first.',
  })
  hours: OverviewHour[];

  @Field(count, { required: true, description: 'Counted up to 10,000, as the two that follow.' })
  unmatched_results: number;

  @Field(count, { required: true, description: 'Records whose accommodations wait for approval.' })
  approvals: number;

  @Field(count, { required: true, description: 'Records that are held.' })
  holds: number;

  @ApiProperty({
    type: 'array',
    items: { $ref: '#/components/schemas/JobModel' },
    maxItems: MOST_JOBS,
    description: 'Bulk jobs that have not ended, newest first.',
  })
  jobs: object[];
}
