import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The number of bytes of results that were stored for one owner on one day. */
@Entity('result_bytes')
export class ResultBytes {
  /**
   * The owner to whom the bytes are charged. The text consists of `account` and the account's code, or of `unmatched`
   * and an account code or a consumer key.
   */
  @PrimaryColumn('text')
  owner: string;

  @PrimaryColumn('date')
  day: string;

  @Column('bigint')
  bytes: number;

  /** The maximum value of `bytes`, from the settings of the process that last wrote the row. */
  @Column('bigint')
  quota: number;
}
