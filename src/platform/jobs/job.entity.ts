import { Column, Entity, PrimaryColumn } from 'typeorm';

export const JOB_KINDS = ['RESEND', 'REPLAY', 'RESOLVE', 'ERASE'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/**
 * The states of a job. PREPARING: its items are being collected. RUNNING: it is being processed. PAUSED: by an
 * operator, or because no item can proceed. DONE: each item has an outcome. ABORTED: items that had not started stay
 * unchanged.
 */
export const JOB_STATES = ['PREPARING', 'RUNNING', 'PAUSED', 'DONE', 'ABORTED'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** A bulk job that an operator requested. The module that does the work stores its items in its own tables. */
@Entity('jobs')
export class Job {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  kind: JobKind;

  @Column('text', { default: 'PREPARING' })
  state: JobState;

  /** `operator`, or the reason why the job cannot proceed. */
  @Column('text', { nullable: true })
  paused_because: string | null;

  /** User name of the operator who paused it. */
  @Column('text', { nullable: true })
  paused_by: string | null;

  /** The account that the job concerns; null when several accounts are possible. */
  @Column('text', { nullable: true })
  account_code: string | null;

  @Column('jsonb')
  filter: object;

  @Column('text')
  reason: string;

  /** For a finished erasure: the results that only a name links to the person, and that nobody has erased yet. */
  @Column('uuid', { array: true, nullable: true })
  unmatched_results: string[] | null;

  /** User name of the operator who requested the job. */
  @Column('text')
  actor: string;

  /** The position up to which the job's items have been collected. */
  @Column('bigint', { default: 0 })
  prepared_to: number;

  /** The number of the job's items; null until all are collected. */
  @Column('int', { nullable: true })
  matched: number | null;

  @Column('timestamptz', { default: () => 'statement_timestamp()' })
  created_datetime: Date;
}
