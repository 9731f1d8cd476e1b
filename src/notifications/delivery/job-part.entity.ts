import { Column, Entity, PrimaryColumn } from 'typeorm';

/** TRYING: one at a time until the first success. OPEN: as any other work. PAUSED: the partner failed. */
export type JobPartState = 'TRYING' | 'OPEN' | 'PAUSED';

/** The part of a bulk job for one partner, and its progress; see job-runner.ts. */
@Entity('job_parts')
export class JobPart {
  @PrimaryColumn('uuid')
  job_id: string;

  @PrimaryColumn('uuid')
  subscription_id: string;

  @Column('text', { default: 'TRYING' })
  state: JobPartState;

  /** The failure class for which it is PAUSED. */
  @Column('text', { nullable: true })
  paused_because: string | null;

  /** How many failures in a row had the status `alike_status`. */
  @Column('int', { default: 0 })
  alike: number;

  @Column('int', { nullable: true })
  alike_status: number | null;

  @Column('int', { default: 0 })
  waiting: number;

  /** Attempts begun; those that have ended are in `delivered` and `failed`, too. */
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
