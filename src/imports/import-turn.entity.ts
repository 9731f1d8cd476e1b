import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The time at which an import of the account was last served: accounts are served in turn, however many imports each
 * has.
 */
@Entity('eligibility_import_turns')
export class ImportTurn {
  @PrimaryColumn('text')
  account_code: string;

  @Column('timestamptz')
  served_datetime: Date;
}
