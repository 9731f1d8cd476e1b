import { Exclude } from 'class-transformer';
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('schools')
export class School {
  @PrimaryColumn('text')
  account_code: string;

  @PrimaryColumn('text')
  school_code: string;

  /** The sort key of schools in lists. Responses do not contain it. */
  @Exclude()
  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  name: string;
}
