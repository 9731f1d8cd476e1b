import { Field } from '../../platform/validation/fields.js';
import { uuidRule } from '../../platform/validation/identifiers.js';
import { dateTime, fault, integer, text, type Rule } from '../../platform/validation/rules.js';

export const MOST_STEPS = 1000;
export const STEP_S = 3600;
const LONGEST_S = 366 * 24 * 3600;
const step = integer(1, LONGEST_S);

/** The validation rule for the step of a digest: whole seconds, written in digits. */
const stepRule: Rule = {
  schema: { ...step.schema, default: STEP_S },
  faults: (value) =>
    typeof value === 'string' && /^[1-9]\d{0,8}$/.test(value)
      ? step.faults(Number(value))
      : [fault('out_of_range', `Must be a whole number from 1 to ${LONGEST_S}, given once.`)],
};

export class DigestQuery {
  @Field(uuidRule, { required: true })
  subscription_id: string;

  @Field(dateTime(), { required: true, description: 'Start of the first step.' })
  from: string;

  @Field(dateTime(), { required: true, description: 'End of the last step, excluded.' })
  to: string;

  @Field(stepRule, { description: 'Seconds of a step. The range may have at most 1000 steps.' })
  step_s?: string;
}

export class DigestModel {
  @Field(dateTime(), { required: true, description: 'Start of the step.' })
  from: string;

  @Field(dateTime(), { required: true, description: 'End of the step, excluded.' })
  to: string;

  @Field(integer(0, 2 ** 31 - 1), { required: true, description: 'Number of the delivered notifications.' })
  count: number;

  @Field(text({ min: 64, max: 64 }), {
    required: true,
    description:
      'XOR of the SHA-256 of the notifications, in hexadecimal digits. Each hash is of `webhook-id`, a line feed, `event-sequence`, a line feed and the body.',
  })
  digest: string;
}
