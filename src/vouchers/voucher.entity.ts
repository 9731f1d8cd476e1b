import { Column, Entity, PrimaryColumn } from 'typeorm';

export const DISCOUNT_TYPES = ['PERCENT', 'AMOUNT'] as const;
export type DiscountType = (typeof DISCOUNT_TYPES)[number];

@Entity('vouchers')
export class Voucher {
  @PrimaryColumn('text')
  account_code: string;

  @PrimaryColumn('text')
  voucher_code: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  discount_type: DiscountType;

  @Column('numeric')
  discount_value: number;

  @Column('text', { nullable: true })
  currency: string | null;

  /** The tests to which the voucher is limited; null or empty means every test of the account. */
  @Column('text', { array: true, nullable: true })
  test_codes: string[] | null;

  @Column('timestamptz', { nullable: true })
  valid_from: Date | null;

  @Column('timestamptz', { nullable: true })
  valid_until: Date | null;

  @Column('int', { default: 1 })
  max_uses: number;

  @Column('int', { default: 0 })
  uses: number;

  @Column('boolean', { default: false })
  disabled: boolean;
}
