import { Column, Entity, PrimaryColumn } from 'typeorm';

export const JOB_KINDS = ['RESEND', 'REPLAY', 'RESOLVE', 'ERASE'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/**
 * The states of a bulk job. PREPARING: the items of the job are being collected. RUNNING: the items are being
 * processed. PAUSED: an operator has paused the job, or no item can be processed at the moment. DONE: the result of
 * each item is known. ABORTED: items whose processing had not begun stay unchanged.
 */
export const JOB_STATES = ['PREPARING', 'RUNNING', 'PAUSED', 'DONE', 'ABORTED'] as const;
export type JobState = (typeof JOB_STATES)[number];

/**
 * A bulk job that an operator requested. The module that processes the job stores the job's items in its own tables.
 */
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

  /** The reason why the job is paused: `operator`, or the failures that stopped it. */
  @Column('text', { nullable: true })
  paused_because: string | null;

  /** The user name of the operator who paused the job. */
  @Column('text', { nullable: true })
  paused_by: string | null;

  /** The account that the job concerns; null if it may concern several accounts. */
  @Column('text', { nullable: true })
  account_code: string | null;

  @Column('jsonb')
  filter: object;

  @Column('text')
  reason: string;

  /**
   * The ids of unmatched results that a finished erasure has not yet erased, because they are linked to the erased
   * person only by a name.
   */
  @Column('uuid', { array: true, nullable: true })
  unmatched_results: string[] | null;

  /** The user name of the operator who requested the job. */
  @Column('text')
  actor: string;

  /** The position of the last item that was collected for the job. */
  @Column('bigint', { default: 0 })
  prepared_to: number;

  /** The number of the job's items; null until all items are collected. */
  @Column('int', { nullable: true })
  matched: number | null;

  @Column('timestamptz', { default: () => 'statement_timestamp()' })
  created_datetime: Date;
}
