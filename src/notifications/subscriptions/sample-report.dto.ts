import { CHANGE_REASONS, type ChangeReason } from '../../bookings/bookings.events.js';
import { OptionalBody } from '../../platform/http/request-form.js';
import { Field, ObjectListField } from '../../platform/validation/fields.js';
import { boolean, dateTime, integer, listOf, oneOf, text } from '../../platform/validation/rules.js';

const changeReason = oneOf(CHANGE_REASONS, 'change_reason_unknown');

/** The steps in the report of a sample, in order. */
export const STEPS = ['NAME', 'ADDRESS', 'TLS', 'SIGN_IN', 'ANSWER'] as const;
export type Step = (typeof STEPS)[number];
const STEP_OUTCOMES = ['OK', 'FAILED', 'NOT_REACHED'] as const;
type StepOutcome = (typeof STEP_OUTCOMES)[number];

@OptionalBody
export class SampleBody {
  @Field(changeReason, { description: 'The event of the sample. When left out, it is BOOKING_CREATED.' })
  change_reason?: ChangeReason | null;

  @Field(boolean(), { description: 'With true, an answer with status 200 makes the subscription ACTIVE.' })
  verify?: boolean | null;
}

class SampleStep {
  @Field(oneOf(STEPS, 'format_invalid'), { required: true })
  step: Step;

  @Field(oneOf(STEP_OUTCOMES, 'format_invalid'), { required: true })
  outcome: StepOutcome;

  @Field(text({ max: 1000 }), { required: true, description: 'A sentence that describes what happened in this step.' })
  detail: string;

  @Field(text({ max: 100 }), { always: true, description: 'A short code of the cause of a failure.' })
  reason: string | null;
}

class SeenCertificateModel {
  @Field(text({ max: 500 }), { required: true })
  subject: string;

  @Field(text({ max: 500 }), { required: true })
  issuer: string;

  @Field(dateTime(), { always: true })
  not_before: string | null;

  @Field(dateTime(), { always: true })
  not_after: string | null;

  @Field(text({ max: 100 }), { required: true, description: 'SHA-256 fingerprint of the certificate.' })
  fingerprint: string;
}

/** The report of a sample, with the result of each step. */
export class SampleReport {
  @Field(boolean(), { required: true })
  delivered: boolean;

  @Field(changeReason, { required: true })
  change_reason: ChangeReason;

  @ObjectListField(() => SampleStep, STEPS.length, { required: true })
  steps: SampleStep[];

  @Field(listOf(text({ max: 64 }), 100), {
    required: true,
    description: 'The addresses of the host name, in the order in which they are tried.',
  })
  addresses: string[];

  @Field(text({ max: 20 }), { always: true, example: 'TLSv1.3' })
  protocol: string | null;

  @ObjectListField(() => SeenCertificateModel, 10, {
    required: true,
    description:
      'The certificates that the partner sent, its own first. They are also shown when they are not accepted.',
  })
  certificates: SeenCertificateModel[];

  @Field(text({ max: 100 }), { always: true, description: 'The failure class of the attempt.' })
  failure: string | null;

  @Field(integer(100, 999), { always: true })
  http_status: number | null;

  @Field(integer(0, Number.MAX_SAFE_INTEGER), { required: true })
  duration_ms: number;

  @Field(text({ max: 2048, lines: true }), { always: true, description: 'The beginning of the partner’s answer.' })
  excerpt: string | null;
}
