import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('voucher_redemptions')
export class VoucherRedemption {
  @PrimaryColumn('text')
  svc_eligiblity_id: string;

  @Column('text')
  account_code: string;

  @PrimaryColumn('text')
  voucher_code: string;

  @Column('timestamptz', { default: () => 'now()' })
  redeemed_datetime: Date;
}
