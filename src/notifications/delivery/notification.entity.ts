import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ChangeReason } from '../../bookings/bookings.events.js';
import type { FailureClass } from '../partner/partner-connection.js';

export type NotificationState = 'PENDING' | 'DELIVERED' | 'ERROR_QUEUE' | 'RESOLVED';
export type Retry = 'AUTO' | 'MANUAL';

/** One event for one subscription, as shown to operators. `position` increases with the creation time. */
@Entity('notifications')
export class Notification {
  @PrimaryColumn({ type: 'bigint', insert: false, update: false })
  position: number;

  /** The `webhook-id`. */
  @Column('uuid')
  id: string;

  @Column('uuid')
  event_id: string;

  @Column('uuid')
  subscription_id: string;

  @Column('text')
  account_code: string;

  @Column('text')
  change_reason: ChangeReason;

  @Column('text')
  booking_code: string;

  @Column('int')
  event_sequence: number;

  @Column('timestamptz')
  effective_date: Date;

  @Column('text', { nullable: true })
  traceparent: string | null;

  /** The JSON text of the NotificationRequest: every attempt sends exactly these bytes. */
  @Column('text')
  body: string;

  @Column('text')
  state: NotificationState;

  @Column('text', { nullable: true })
  retry: Retry | null;

  @Column('text', { nullable: true })
  failure: FailureClass | null;

  /** A short code of the cause, such as `ECONNREFUSED`; null when the status is sufficient. */
  @Column('text', { nullable: true })
  failure_reason: string | null;

  /**
   * The status of the last failure. It is null after a delivery, which always means 200: an index contains the column,
   * and a delivery must not change it.
   */
  @Column('int', { nullable: true })
  http_status: number | null;

  /** The operator's reason for the last resend or for the resolution. */
  @Column('text', { nullable: true })
  reason: string | null;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  created_datetime: Date;

  @Column('timestamptz', { nullable: true })
  queued_datetime: Date | null;

  @Column('timestamptz', { nullable: true })
  delivered_datetime: Date | null;

  @Column('timestamptz', { nullable: true })
  resolved_datetime: Date | null;
}
