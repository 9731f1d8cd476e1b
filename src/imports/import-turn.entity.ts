import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The time at which a worker last processed rows of the account. Workers process the imports of the accounts in turn,
 * however many imports each account has.
 */
@Entity('eligibility_import_turns')
export class ImportTurn {
  @PrimaryColumn('text')
  account_code: string;

  @Column('timestamptz')
  served_datetime: Date;
}
