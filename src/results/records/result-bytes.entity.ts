import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Bytes of results that were stored in a day. */
@Entity('result_bytes')
export class ResultBytes {
  /** `account` and its code, or `unmatched` and an account code or a consumer key. */
  @PrimaryColumn('text')
  owner: string;

  @PrimaryColumn('date')
  day: string;

  @Column('bigint')
  bytes: number;

  /** The most that `bytes` may be, by the settings of who wrote last. */
  @Column('bigint')
  quota: number;
}
