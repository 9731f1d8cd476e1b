import { Field } from '../platform/validation/fields.js';
import { text } from '../platform/validation/rules.js';
import { EligibilityResponseModel } from './eligibility-model.fields.js';

/** An eligibility record that an operator's search has found. */
export class FoundEligibilityModel extends EligibilityResponseModel {
  @Field(text({ max: 50 }), { required: true })
  account_code: string;
}
