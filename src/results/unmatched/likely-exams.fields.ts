import { OperatorEligibilityModel } from '../../eligibility/operator-record.fields.js';
import { Field, ObjectField } from '../../platform/validation/fields.js';
import { listOf, oneOf } from '../../platform/validation/rules.js';
import { LIKENESSES, type Likeness } from './likely-exams.rules.js';

/** An exam to which an unmatched result may belong, as HTTP responses show it. */
export class LikelyExamModel {
  @ObjectField(() => OperatorEligibilityModel, { required: true })
  record: OperatorEligibilityModel;

  @Field(listOf(oneOf(LIKENESSES, 'format_invalid'), LIKENESSES.length), {
    required: true,
    description: 'The values that the exam and the result have in common, the strongest first.',
  })
  because: Likeness[];
}
