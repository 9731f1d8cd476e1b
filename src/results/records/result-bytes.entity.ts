import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The number of result bytes stored in a day. */
@Entity('result_bytes')
export class ResultBytes {
  /** `account` and its code, or `unmatched` and an account code or a consumer key. */
  @PrimaryColumn('text')
  owner: string;

  @PrimaryColumn('date')
  day: string;

  @Column('bigint')
  bytes: number;

  /** The maximum of `bytes`, by the settings of the last writer. */
  @Column('bigint')
  quota: number;
}
