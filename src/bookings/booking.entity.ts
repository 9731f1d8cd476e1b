import { Column, Entity, PrimaryColumn } from 'typeorm';

import type { BookingStatus, DeliveryMode } from './bookings.rules.js';

@Entity('bookings')
export class Booking {
  @PrimaryColumn('text')
  booking_code: string;

  @Column('text')
  svc_eligiblity_id: string;

  @Column('text')
  account_code: string;

  @Column('text')
  candidate_id: string;

  @Column('text')
  test_code: string;

  @Column('text')
  status: BookingStatus;

  @Column('timestamptz')
  booking_on: Date;

  @Column('text', { nullable: true })
  delivery_mode: DeliveryMode | null;

  @Column('text', { nullable: true })
  location_code: string | null;

  @Column('text', { nullable: true })
  location_name: string | null;

  @Column('text', { nullable: true })
  location_address: string | null;

  @Column('text', { nullable: true })
  location_timezone: string | null;

  @Column('int', { default: 0 })
  event_sequence: number;

  @Column('timestamptz')
  created_datetime: Date;

  @Column('timestamptz')
  updated_datetime: Date;
}
