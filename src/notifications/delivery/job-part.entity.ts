import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The state of a job's part. TRYING: one notification at a time is sent until the first success. OPEN: several
 * notifications may be sent at once. PAUSED: nothing is sent, because the partner failed.
 */
export type JobPartState = 'TRYING' | 'OPEN' | 'PAUSED';

/** The part of a bulk job for one partner, with its progress; see job-runner.ts. */
@Entity('job_parts')
export class JobPart {
  @PrimaryColumn('uuid')
  job_id: string;

  @PrimaryColumn('uuid')
  subscription_id: string;

  @Column('text', { default: 'TRYING' })
  state: JobPartState;

  /** The failure class that caused the pause of this part of the job; null if the part is not paused. */
  @Column('text', { nullable: true })
  paused_because: string | null;

  /** The number of consecutive failures with the same HTTP status, which is in `alike_status`. */
  @Column('int', { default: 0 })
  alike: number;

  @Column('int', { nullable: true })
  alike_status: number | null;

  @Column('int', { default: 0 })
  waiting: number;

  /** The number of started attempts, including the ended attempts, which also count as `delivered` or `failed`. */
  @Column('int', { default: 0 })
  sent: number;

  @Column('int', { default: 0 })
  delivered: number;

  @Column('int', { default: 0 })
  failed: number;

  @Column('int', { default: 0 })
  skipped: number;

  @Column('int', { default: 0 })
  resolved: number;
}
