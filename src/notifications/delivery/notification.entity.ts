import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { NotifiedChange } from '../notified-change.js';
import type { FailureClass } from '../partner/partner-connection.js';

export type NotificationState = 'PENDING' | 'DELIVERED' | 'ERROR_QUEUE' | 'RESOLVED';
export type Retry = 'AUTO' | 'MANUAL';

/** A notification: one event for one subscription. `position` increases with the creation time. */
@Entity('notifications')
export class Notification {
  @PrimaryColumn({ type: 'bigint', insert: false, update: false })
  position: number;

  /** The id of the message, which is sent in the `webhook-id` header. */
  @Column('uuid')
  id: string;

  @Column('uuid')
  event_id: string;

  @Column('uuid')
  subscription_id: string;

  @Column('text')
  account_code: string;

  @Column('text')
  change_reason: NotifiedChange;

  /**
   * The code of the booking; for a change to an eligibility record, its `svc_eligiblity_id`. Notifications with the
   * same value are sent in order.
   */
  @Column('text')
  booking_code: string;

  @Column('int')
  event_sequence: number;

  @Column('timestamptz')
  effective_date: Date;

  @Column('text', { nullable: true })
  traceparent: string | null;

  /** The JSON text of the NotificationRequest or of the change-feed entry. Every attempt sends exactly these bytes. */
  @Column('text')
  body: string;

  @Column('text')
  state: NotificationState;

  @Column('text', { nullable: true })
  retry: Retry | null;

  @Column('text', { nullable: true })
  failure: FailureClass | null;

  /** A short code for the cause of the failure, such as `ECONNREFUSED`; null if the HTTP status explains it. */
  @Column('text', { nullable: true })
  failure_reason: string | null;

  /**
   * The HTTP status of the last failure. The value is null after a delivery, because the status of a delivery is always
   * 200. A delivery must not change this column, because an index contains it.
   */
  @Column('int', { nullable: true })
  http_status: number | null;

  /** The reason that an operator gave for the last resend, or for the resolution. */
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
