import type { RetakePolicy } from '../accounts/accounts.commands.js';
import type { CandidateModel } from './eligibility-model.fields.js';
import type { Eligibility } from './eligibility.entity.js';

/** The columns that get the table's default value when a record is created. */
export const DEFAULTED = [
  'position',
  'hold_reason',
  'decline_reason',
  'booking_code',
  'booking_on',
  'last_event_at',
  'erased_datetime',
] as const;

type Written = Exclude<keyof Eligibility, (typeof DEFAULTED)[number]>;

/** A record before it is stored, with the retake policy of its test. The INSERT returns the complete row. */
export type NewEligibility = Omit<Pick<Eligibility, Written>, 'svc_eligiblity_id'> & { retake: RetakePolicy | null };

/** The columns that the creation of a record writes, with their SQL types. No other list of these columns exists. */
export const WRITTEN: Readonly<Record<Written, string>> = {
  svc_eligiblity_id: 'text',
  account_code: 'text',
  candidate_id: 'text',
  test_code: 'text',
  client_eligibility_id: 'text',
  status: 'text',
  approval_pending: 'boolean',
  schedule_start_date: 'timestamptz',
  eligibility_end_date: 'timestamptz',
  registration_mode: 'text',
  portion_codes: 'text[]',
  first_name: 'text',
  middle_name: 'text',
  last_name: 'text',
  suffix: 'text',
  address1: 'text',
  address2: 'text',
  city: 'text',
  province_state: 'text',
  postal_code: 'text',
  country: 'text',
  email: 'text',
  home_phone: 'text',
  office_phone: 'text',
  school_code: 'text',
  special_accommodations: 'text[]',
  additional_attributes: 'jsonb',
  created_datetime: 'timestamptz',
  updated_datetime: 'timestamptz',
};

const NOT_SHOWN = [
  'account_code',
  'registration_mode',
  'booking_code',
  'booking_on',
  'last_event_at',
  'updated_datetime',
  'erased_datetime',
] as const;

/** The columns of a record that clients see, and the record's sort keys. */
export type ShownEligibility = Omit<Eligibility, (typeof NOT_SHOWN)[number]>;

/** The names of the columns of the `eligibilities` table that {@link ShownEligibility} contains. */
export const SHOWN = [...Object.keys(WRITTEN), ...DEFAULTED].filter((name) => !NOT_SHOWN.some((not) => not === name));

type Demographic = Exclude<
  keyof CandidateModel,
  'candidate_id' | 'country' | 'special_accommodations' | 'additional_attributes'
>;

const AS_SENT: Readonly<Record<Demographic, true>> = {
  first_name: true,
  middle_name: true,
  last_name: true,
  suffix: true,
  address1: true,
  address2: true,
  city: true,
  province_state: true,
  postal_code: true,
  email: true,
  home_phone: true,
  office_phone: true,
  school_code: true,
};

/** The members of a candidate that are stored as the client sent them, and that an update may change. */
export const DEMOGRAPHICS = Object.keys(AS_SENT) as readonly Demographic[];

/** Copies the demographic members of a candidate. Missing members become `null`. */
export function demographicsOf(from: Partial<Pick<CandidateModel, Demographic>>): Pick<Eligibility, Demographic> {
  const demographics: Partial<Record<Demographic, string | null>> = {};
  for (const name of DEMOGRAPHICS) demographics[name] = from[name] ?? null;
  return demographics as Pick<Eligibility, Demographic>;
}
