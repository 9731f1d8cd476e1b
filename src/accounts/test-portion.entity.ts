import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('test_portions')
export class TestPortion {
  @PrimaryColumn('text')
  account_code: string;

  @PrimaryColumn('text')
  test_code: string;

  @PrimaryColumn('text')
  portion_code: string;

  @Column('text', { nullable: true })
  portion_name: string | null;

  @Column('int')
  ordinal: number;
}
