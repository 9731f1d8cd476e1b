import { Column, Entity, PrimaryColumn } from 'typeorm';

// Tables of 0.1.0 whose processes may still run during an upgrade. Nothing reads them any more; the next release drops them,
// and `deliveries.resend_id` with them.

@Entity('resend_jobs')
export class ResendJob {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  state: string;

  @Column('boolean', { default: true })
  canary: boolean;

  @Column('jsonb')
  filter: object;

  @Column('text')
  reason: string;

  @Column('text')
  actor: string;

  @Column('int')
  matched: number;

  @Column('int', { default: 0 })
  sent: number;

  @Column('int', { default: 0 })
  delivered: number;

  @Column('int', { default: 0 })
  failed: number;

  @Column('int', { default: 0 })
  skipped: number;

  @Column('timestamptz')
  created_datetime: Date;
}

@Entity('resend_items')
export class ResendItem {
  @PrimaryColumn('uuid')
  resend_id: string;

  @PrimaryColumn('bigint')
  notification_position: number;

  @Column('text', { default: 'WAITING' })
  state: string;
}

@Entity('error_queue_counts')
export class ErrorQueueCount {
  @PrimaryColumn('uuid')
  subscription_id: string;

  @PrimaryColumn('text')
  retry: string;

  @Column('text', { nullable: true })
  failure: string | null;

  @Column('int', { nullable: true })
  http_status: number | null;

  @Column('int')
  change: number;
}
