import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The cause of an attempt: the event itself, the automatic retry, an operator, or a replay of what was delivered. */
const TRIGGERS = ['FIRST', 'AUTO', 'MANUAL', 'REPLAY'] as const;
/** Why a PUT was made. RENEWED: once more in the same attempt, with a new token or over a new connection. */
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

  @Column('text')
  booking_code: string;

  @Column('int')
  event_sequence: number;

  @Column('text')
  trigger: Trigger;

  /** The bulk job that it belongs to. */
  @Column('uuid', { nullable: true })
  job_id: string | null;

  @Column('bigint', { nullable: true })
  lease_token: number | null;

  @Column('timestamptz', { nullable: true })
  leased_until: Date | null;

  /** The request of the attempt under lease is on its way; set only when it is asked for. */
  @Column('boolean', { default: false })
  begun: boolean;

  /** Attempts in a row that said that the partner is down. */
  @Column('int', { default: 0 })
  failures: number;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  due_datetime: Date;
}
