import { Field } from '../platform/validation/fields.js';
import { text } from '../platform/validation/rules.js';
import { EligibilityResponseModel } from './eligibility-model.fields.js';

/** A record in the answer to an operator's search. */
export class FoundEligibilityModel extends EligibilityResponseModel {
  @Field(text({ max: 50 }), { required: true })
  account_code: string;
}
