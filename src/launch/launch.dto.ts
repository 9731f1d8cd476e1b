import { candidateIdRule } from '../eligibility/eligibility.fields.js';
import { GENERATED_TOKEN } from '../platform/secrets.js';
import { Field } from '../platform/validation/fields.js';
import { testCodeRule } from '../platform/validation/identifiers.js';
import { boolean, dateTime, text } from '../platform/validation/rules.js';
import { declareFaults } from '../platform/errors.js';

declareFaults({
  svc_eligiblity_id_invalid: [
    'The value is not a valid svc_eligiblity_id.',
    'Send the 8 letters and digits of an svc_eligiblity_id that the service issued.',
  ],
});

/** The schema of the code in a launch URL. The response to a code in any other form is 404. */
export const LAUNCH_CODE = text({ min: 43, max: 44, pattern: GENERATED_TOKEN }).schema;

export class LaunchPath {
  @Field(
    text({
      max: 8,
      code: 'svc_eligiblity_id_invalid',
      form: 'Must be 8 letters and digits.',
      pattern: /^[A-Za-z0-9]{8}$/,
    }),
    { required: true },
  )
  svc_eligibility_code: string;
}

/** The response to the operation testLaunchInfo. */
export class TestLaunchInfo {
  @Field(text({ max: 8 }), { required: true })
  svc_eligiblity_id: string;

  @Field(candidateIdRule, { required: true })
  candidate_id: string;

  @Field(testCodeRule, { required: true })
  test_code: string;

  @Field(text({ max: 2000, format: 'uri' }), {
    required: true,
    description: 'The launch URL, which works once and needs no token.',
  })
  launch_url: string;

  @Field(dateTime(), { required: true })
  expires_at: string;

  @Field(boolean(), { required: true })
  single_use: true;
}
