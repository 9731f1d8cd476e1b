import { Field } from '../platform/http/fields.js';
import { text } from '../platform/http/rules.js';

export const candidateIdRule = text({
  min: 1,
  max: 50,
  code: 'candidate_id_invalid',
  form: 'Must be printable, without / and \\ and without blanks at its ends.',
  pattern: /^(?!\s)[^/\\]*(?<!\s)$/u,
  example: 'C-1001',
});
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
