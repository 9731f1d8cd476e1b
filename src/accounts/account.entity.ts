import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('accounts')
export class Account {
  @PrimaryColumn('text')
  account_code: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  name: string;

  /** The number of days for which photos of candidates are kept; null means forever. */
  @Column('int', { nullable: true })
  photo_retention_days: number | null;

  @Column('int', { nullable: true })
  video_retention_days: number | null;

  @Column('int', { nullable: true })
  candidate_retention_days: number | null;

  /**
   * The days on which the EXPIRING change is announced, each as a number of days before the end date of an eligibility.
   */
  @Column('int', { array: true, default: '{}' })
  expiring_days: number[];

  @Column('timestamptz', { default: () => 'now()' })
  created_datetime: Date;
}
