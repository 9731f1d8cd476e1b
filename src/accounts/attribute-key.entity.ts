import { Exclude } from 'class-transformer';
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('attribute_keys')
export class AttributeKey {
  @PrimaryColumn('text')
  account_code: string;

  @PrimaryColumn('text')
  attribute_key: string;

  /** The sort key of attribute keys in lists. Responses do not contain it. */
  @Exclude()
  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  name: string;
}
