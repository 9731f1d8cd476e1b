import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AttemptTrigger } from './delivery.entity.js';
import type { FailureClass } from '../partner/partner-connection.js';

/**
 * An attempt to deliver a notification. The table has no key, because attempts are only appended and are always looked
 * up by their notification.
 */
@Entity('notification_attempts')
export class NotificationAttempt {
  @PrimaryColumn('bigint')
  notification_position: number;

  @PrimaryColumn('timestamptz')
  at: Date;

  @Column('int')
  duration_ms: number;

  @Column('text')
  trigger: AttemptTrigger;

  @Column('int', { nullable: true })
  http_status: number | null;

  @Column('text', { nullable: true })
  failure: FailureClass | null;

  /** A short code for the cause of the failure; null if the HTTP status alone explains the failure. */
  @Column('text', { nullable: true })
  reason: string | null;

  @Column('text', { nullable: true })
  excerpt: string | null;

  @Column('uuid')
  subscription_id: string;
}
