import { Column, Entity, PrimaryColumn } from 'typeorm';

export const JOB_KINDS = ['RESEND', 'REPLAY', 'RESOLVE', 'ERASE'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/**
 * PREPARING: its set is being made. RUNNING: it is worked on. PAUSED: by an operator, or because nothing of it can go on.
 * DONE: each of its items has an outcome. ABORTED: what it had not begun stays as it was.
 */
export const JOB_STATES = ['PREPARING', 'RUNNING', 'PAUSED', 'DONE', 'ABORTED'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** A bulk job that an operator asked for. Tables of the module that does the work have its items. */
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

  /** `operator`, or what keeps it from going on. */
  @Column('text', { nullable: true })
  paused_because: string | null;

  /** User name of the operator who paused it. */
  @Column('text', { nullable: true })
  paused_by: string | null;

  /** The account that it concerns; null when there may be several. */
  @Column('text', { nullable: true })
  account_code: string | null;

  @Column('jsonb')
  filter: object;

  @Column('text')
  reason: string;

  /** Of an erasure that is done: the results that only a name ties to the person, and that nobody has erased yet. */
  @Column('uuid', { array: true, nullable: true })
  unmatched_results: string[] | null;

  /** User name of who asked for it. */
  @Column('text')
  actor: string;

  /** How far its set has been made: a position of the rows it is made of. */
  @Column('bigint', { default: 0 })
  prepared_to: number;

  /** How many items its set has; null until that is made. */
  @Column('int', { nullable: true })
  matched: number | null;

  @Column('timestamptz', { default: () => 'statement_timestamp()' })
  created_datetime: Date;
}
