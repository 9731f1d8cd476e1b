import { Field } from '../platform/validation/fields.js';
import { text } from '../platform/validation/rules.js';
import { EligibilityResponseModel } from './eligibility-model.fields.js';

/** A search result for operators. */
export class FoundEligibilityModel extends EligibilityResponseModel {
  @Field(text({ max: 50 }), { required: true })
  account_code: string;
}
