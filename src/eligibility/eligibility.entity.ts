import { Column, Entity, PrimaryColumn } from 'typeorm';

import type { EligibilityStatus } from './eligibility.fields.js';

@Entity('eligibilities')
export class Eligibility {
  @PrimaryColumn('text')
  svc_eligiblity_id: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  account_code: string;

  @Column('text')
  candidate_id: string;

  @Column('text')
  test_code: string;

  @Column('text', { nullable: true })
  client_eligibility_id: string | null;

  @Column('text')
  status: EligibilityStatus;

  @Column('text', { nullable: true })
  hold_reason: string | null;

  @Column('boolean')
  approval_pending: boolean;

  /** The reason why an operator declined the accommodations. An operator may still approve the accommodations later. */
  @Column('text', { nullable: true })
  decline_reason: string | null;

  /** The code of the record's open booking. It is set if and only if the status is SCHEDULED. */
  @Column('text', { nullable: true })
  booking_code: string | null;

  @Column('timestamptz', { nullable: true })
  booking_on: Date | null;

  /**
   * The `effective_date` of the newest event of the record's bookings. The next event of these bookings gets a later
   * date.
   */
  @Column('timestamptz', { nullable: true })
  last_event_at: Date | null;

  @Column('timestamptz', { nullable: true })
  schedule_start_date: Date | null;

  @Column('timestamptz', { nullable: true })
  eligibility_end_date: Date | null;

  @Column('text', { nullable: true })
  registration_mode: string | null;

  @Column('text', { array: true })
  portion_codes: string[];

  @Column('text')
  first_name: string;

  @Column('text', { nullable: true })
  middle_name: string | null;

  @Column('text')
  last_name: string;

  @Column('text', { nullable: true })
  suffix: string | null;

  @Column('text', { nullable: true })
  address1: string | null;

  @Column('text', { nullable: true })
  address2: string | null;

  @Column('text', { nullable: true })
  city: string | null;

  @Column('text', { nullable: true })
  province_state: string | null;

  @Column('text', { nullable: true })
  postal_code: string | null;

  @Column('text', { nullable: true })
  country: string | null;

  @Column('text', { nullable: true })
  email: string | null;

  @Column('text', { nullable: true })
  home_phone: string | null;

  @Column('text', { nullable: true })
  office_phone: string | null;

  @Column('text', { nullable: true })
  school_code: string | null;

  @Column('text', { array: true })
  special_accommodations: string[];

  @Column('jsonb')
  additional_attributes: { key: string; value: string }[];

  @Column('timestamptz')
  created_datetime: Date;

  @Column('timestamptz')
  updated_datetime: Date;

  /** The time at which the candidate's data in this record was erased; null if the data was not erased. */
  @Column('timestamptz', { nullable: true })
  erased_datetime: Date | null;
}
