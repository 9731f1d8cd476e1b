import { Field, ObjectField, ObjectListField, ReadOnlyMembers } from '../platform/validation/fields.js';
import { country, email } from '../platform/validation/formats.js';
import { boolean, dateTime, listOf, oneOf, setOf, text } from '../platform/validation/rules.js';
import { testCodeRule } from '../platform/validation/identifiers.js';
import {
  candidateIdRule,
  clientEligibilityIdRule,
  ELIGIBILITY_STATUSES,
  MOST_PORTIONS,
  personNameRule,
} from './eligibility.fields.js';
import { declareFaults } from '../platform/errors.js';

declareFaults({
  registration_mode_invalid: [
    'The value is not a known registration mode.',
    'Use one of the values that the API description lists, in upper or lower case.',
  ],
});

export const REGISTRATION_MODES = [
  'Online',
  'Phone',
  'Walkin',
  'Import',
  'Mail',
  'Email',
  'Fax',
  'IVR',
  'ExpressMail',
  'VoiceResponse',
  'Application',
] as const;

const code50 = () => text({ min: 1, max: 50 });

export const MOST_VOUCHERS = 20;
export const MOST_ATTRIBUTES = 50;
export const voucherCodesRule = setOf(code50(), MOST_VOUCHERS);

export class CandidateAttribute {
  @Field(code50(), { required: true, description: 'The key, which the account must have. Required.' })
  key: string;

  @Field(text({ max: 1000 }), {
    required: true,
    description: 'The value of the attribute. It is required, but may be empty.',
  })
  value: string;
}

/** The Candidate model of the specification. */
export class CandidateModel {
  @ObjectListField(() => CandidateAttribute, MOST_ATTRIBUTES, {
    description: 'Each attribute has a `key` and a `value`, and each key appears once.',
  })
  additional_attributes?: CandidateAttribute[] | null;

  @Field(text({ max: 200 }))
  address1?: string | null;

  @Field(text({ max: 200 }))
  address2?: string | null;

  @Field(candidateIdRule, { required: true, description: 'Unique id of the candidate in the client system.' })
  candidate_id: string;

  @Field(text({ max: 100 }))
  city?: string | null;

  @Field(country(), {
    description: 'Code of the country (ISO 3166-1 alpha-2) in upper or lower case; stored in upper case.',
  })
  country?: string | null;

  @Field(email())
  email?: string | null;

  @Field(personNameRule, { required: true, example: 'Ada' })
  first_name: string;

  @Field(text({ max: 40 }))
  home_phone?: string | null;

  @Field(personNameRule, { required: true, example: 'Lovelace' })
  last_name: string;

  @Field(personNameRule)
  middle_name?: string | null;

  @Field(text({ max: 40 }))
  office_phone?: string | null;

  @Field(text({ max: 20 }))
  postal_code?: string | null;

  @Field(text({ max: 100 }), {
    description:
      'The province or state. In the United States, a two-letter USPS code; territories and military codes are included.',
  })
  province_state?: string | null;

  @Field(code50(), { description: 'A school of the account.' })
  school_code?: string | null;

  @Field(setOf(code50(), 20), { description: 'Accommodations of the account. Repeated codes count once.' })
  special_accommodations?: string[] | null;

  @Field(text({ max: 20 }))
  suffix?: string | null;
}

/** The Eligibility model of the specification, which is the body of requests that create or update an eligibility. */
@ReadOnlyMembers(
  'status',
  'eligible_to_schedule',
  'eligibility_status_message',
  'created_datetime',
  'svc_eligiblity_id',
)
export class EligibilityModel {
  @ObjectField(() => CandidateModel, { required: true })
  candidate: CandidateModel;

  @Field(clientEligibilityIdRule, { description: 'Unique id of the eligibility in the client system.' })
  client_eligibility_id?: string | null;

  @Field(dateTime('last'), {
    description: 'End of the eligibility window: the latest time for which the exam can be booked.',
  })
  eligibility_end_date?: string | null;

  @Field(setOf(code50(), MOST_PORTIONS), {
    description:
      'The portions of the test. The member can be left out if the test has only one portion. Repeated codes count once.',
  })
  portion_codes?: string[] | null;

  @Field(oneOf(REGISTRATION_MODES, 'registration_mode_invalid', { anyCase: true }))
  registration_mode?: string | null;

  @Field(dateTime(), {
    description: 'Start of the eligibility window: the earliest time for which the exam can be booked.',
  })
  schedule_start_date?: string | null;

  @Field(testCodeRule, { required: true })
  test_code: string;

  @Field(voucherCodesRule, {
    description:
      'Voucher codes of the account. Repeated codes count once. An update adds the codes to the current ones.',
  })
  voucher_codes?: string[] | null;
}

/** The Eligibility Response model of the specification. */
export class EligibilityResponseModel {
  @ObjectField(() => CandidateModel, { required: true })
  candidate: CandidateModel;

  @Field(clientEligibilityIdRule, { always: true })
  client_eligibility_id: string | null;

  @Field(dateTime(), { required: true })
  created_datetime: string;

  @Field(dateTime(), { always: true })
  eligibility_end_date: string | null;

  @Field(text({ max: 1000, lines: true }), {
    always: true,
    description: 'The reason why the candidate cannot schedule; null if and only if the candidate can.',
  })
  eligibility_status_message: string | null;

  @Field(boolean(), { required: true })
  eligible_to_schedule: boolean;

  @Field(listOf(code50(), MOST_PORTIONS), { required: true })
  portion_codes: string[];

  @Field(text({ max: 8, min: 8, pattern: /^[A-HJKMNP-TV-Z2-9]{8}$/, example: 'K7MWQ2XA' }), { required: true })
  svc_eligiblity_id: string;

  @Field(dateTime(), { always: true })
  schedule_start_date: string | null;

  @Field(oneOf(ELIGIBILITY_STATUSES, 'format_invalid'), { required: true })
  status: string;

  @Field(testCodeRule, { required: true })
  test_code: string;
}

export class HoldRequest {
  @Field(text({ min: 1, max: 500, notBlank: true, lines: true }), {
    required: true,
    description: 'The reason, which the client can read.',
  })
  reason: string;
}
