import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What caused an attempt: the event itself, the automatic retry, or an operator. */
export type Trigger = 'FIRST' | 'AUTO' | 'MANUAL';

/** A notification that the delivery loop has to send; see delivery-statements.ts. */
@Entity('deliveries')
export class Delivery {
  @PrimaryColumn('uuid')
  subscription_id: string;

  @PrimaryColumn('bigint')
  notification_position: number;

  @Column('text')
  booking_code: string;

  @Column('int')
  event_sequence: number;

  @Column('text')
  trigger: Trigger;

  @Column('uuid', { nullable: true })
  resend_id: string | null;

  @Column('bigint', { nullable: true })
  lease_token: number | null;

  @Column('timestamptz', { nullable: true })
  leased_until: Date | null;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  due_datetime: Date;
}
