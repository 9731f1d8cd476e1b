import { Field } from '../platform/validation/fields.js';
import { code, text } from '../platform/validation/rules.js';

export const candidateIdRule = code(50, { code: 'candidate_id_invalid', example: 'C-1001' });
export const testCodeRule = text({
  min: 1,
  max: 50,
  code: 'test_code_invalid',
  form: 'Must consist of letters, digits and hyphens.',
  pattern: /^[A-Za-z0-9-]+$/,
  example: 'NURSE-RN',
});

/** Path of everything below a candidate. */
export class CandidatePath {
  @Field(text({ min: 1, max: 50 }), { required: true })
  account_code: string;

  @Field(candidateIdRule, { required: true })
  candidate_id: string;
}

/** Path of a candidate's eligibility for a test. */
export class CandidateTestPath extends CandidatePath {
  @Field(testCodeRule, { required: true })
  test_code: string;
}
