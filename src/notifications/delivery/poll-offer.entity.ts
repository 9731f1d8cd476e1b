import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Trigger } from './delivery.entity.js';

/** A notification that a partner has polled and not yet acknowledged; see poll-offers.ts. */
@Entity('poll_offers')
export class PollOffer {
  @PrimaryColumn('uuid')
  notification_id: string;

  @PrimaryColumn('bigint')
  lease_token: number;

  @Column('uuid')
  subscription_id: string;

  @Column('bigint')
  notification_position: number;

  @Column('text')
  trigger: Trigger;

  /** The bulk job that sends the notification; null if no job does. */
  @Column('uuid', { nullable: true })
  job_id: string | null;

  /** The application and the user that polled. Only this caller can acknowledge or refuse the notification. */
  @Column('text')
  caller: string;

  @Column('timestamptz')
  offered_datetime: Date;

  @Column('int')
  lease_s: number;

  @Column('timestamptz')
  leased_until: Date;
}
