import { Column, Entity, PrimaryColumn } from 'typeorm';

/** When an import of the account was last served: accounts take turns, however many imports each has. */
@Entity('eligibility_import_turns')
export class ImportTurn {
  @PrimaryColumn('text')
  account_code: string;

  @Column('timestamptz')
  served_datetime: Date;
}
