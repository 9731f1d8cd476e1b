import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RowOutcome } from './imports.rules.js';

@Entity('eligibility_import_chunks')
export class ImportChunk {
  @PrimaryColumn('uuid')
  import_id: string;

  @PrimaryColumn('int')
  chunk: number;

  @Column('int')
  first_row: number;

  /** The encrypted rows of the chunk; null once they are processed. */
  @Column('bytea', { nullable: true })
  rows: Buffer | null;

  @Column('jsonb', { nullable: true })
  outcomes: RowOutcome[] | null;
}
