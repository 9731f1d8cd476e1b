import { Exclude } from 'class-transformer';
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('accommodations')
export class Accommodation {
  @PrimaryColumn('text')
  account_code: string;

  @PrimaryColumn('text')
  accommodation_code: string;

  /** The sort key of accommodations in lists. Responses do not contain it. */
  @Exclude()
  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  name: string;

  @Column('boolean')
  requires_approval: boolean;
}
