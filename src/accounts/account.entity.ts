import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('accounts')
export class Account {
  @PrimaryColumn('text')
  account_code: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  name: string;

  @Column('timestamptz', { default: () => 'now()' })
  created_datetime: Date;
}
