import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The cause of a delivery: the event itself, an automatic retry, an operator's resend, or a replay of a delivered
 * notification.
 */
const TRIGGERS = ['FIRST', 'AUTO', 'MANUAL', 'REPLAY'] as const;
/**
 * The cause of an HTTP request. RENEWED means that the request repeats an earlier request of the same attempt, with a
 * new access token or over a new connection.
 */
export const ATTEMPT_TRIGGERS = [...TRIGGERS, 'RENEWED'] as const;
export type AttemptTrigger = (typeof ATTEMPT_TRIGGERS)[number];
export type Trigger = (typeof TRIGGERS)[number];

/** A notification that the delivery loop has to send; see delivery-statements.ts. */
@Entity('deliveries')
export class Delivery {
  @PrimaryColumn('uuid')
  subscription_id: string;

  @PrimaryColumn('bigint')
  notification_position: number;

  /** See {@link Notification.booking_code}. */
  @Column('text')
  booking_code: string;

  @Column('int')
  event_sequence: number;

  @Column('text')
  trigger: Trigger;

  /** The bulk job that sends the notification; null if no job does. */
  @Column('uuid', { nullable: true })
  job_id: string | null;

  @Column('bigint', { nullable: true })
  lease_token: number | null;

  @Column('timestamptz', { nullable: true })
  leased_until: Date | null;

  /**
   * Whether the request of the leased attempt is being sent. The column is set only if another process needs to see
   * that the attempt has begun.
   */
  @Column('boolean', { default: false })
  begun: boolean;

  /** The number of consecutive attempts to send this notification that failed because the partner was down. */
  @Column('int', { default: 0 })
  failures: number;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  due_datetime: Date;
}
