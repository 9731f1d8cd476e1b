import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Ending, ImportState } from './imports.rules.js';

@Entity('eligibility_imports')
export class Import {
  @PrimaryColumn('uuid')
  import_id: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  account_code: string;

  @Column('text')
  state: ImportState;

  /** The reason why the import ended early; null while it runs and when it is DONE. */
  @Column('text', { nullable: true })
  ending: Ending | null;

  @Column('boolean')
  dry_run: boolean;

  /** The user who sent the import. Its rows are processed as this user, with the scopes of the user's token. */
  @Column('text')
  username: string;

  @Column('text')
  consumer_key: string;

  @Column('text', { array: true })
  scopes: string[];

  /** The name of the file, if the sender specified a name. */
  @Column('text', { nullable: true })
  file_name: string | null;

  @Column('text', { nullable: true })
  request_id: string | null;

  @Column('text', { nullable: true })
  idempotency_key: string | null;

  /** The column names of the CSV header, as the file spells them. */
  @Column('text', { array: true, nullable: true })
  columns: string[] | null;

  @Column('int', { default: 0 })
  rows: number;

  @Column('int', { default: 0 })
  done: number;

  @Column('int', { default: 0 })
  created: number;

  @Column('int', { default: 0 })
  updated: number;

  @Column('int', { default: 0 })
  unchanged: number;

  @Column('int', { default: 0 })
  cancelled: number;

  @Column('int', { default: 0 })
  refused: number;

  @Column('int', { default: 0 })
  next_chunk: number;

  @Column('uuid', { nullable: true })
  lease_token: string | null;

  @Column('timestamptz', { nullable: true })
  leased_until: Date | null;

  /**
   * The time at which processing of a chunk of the import last began. Workers process the imports of an account in
   * turn.
   */
  @Column('timestamptz', { nullable: true })
  served_datetime: Date | null;

  @Column('timestamptz')
  received_datetime: Date;

  @Column('timestamptz', { nullable: true })
  started_datetime: Date | null;

  @Column('timestamptz', { nullable: true })
  finished_datetime: Date | null;
}
