import { Column, Entity, PrimaryColumn } from 'typeorm';

export type ResendState = 'RUNNING' | 'PAUSED' | 'DONE' | 'ABORTED';

/** A bulk resend; see resend-jobs.ts. */
@Entity('resend_jobs')
export class ResendJob {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  state: ResendState;

  /** Until the first delivery, events go one at a time. */
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

  /** Items that had left the error queue by other ways before their turn. */
  @Column('int', { default: 0 })
  skipped: number;

  @Column('timestamptz')
  created_datetime: Date;
}
