import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Vouchers1763640500000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- discount_value has no limit of its own, because currencies have up to four decimals.
      CREATE TABLE vouchers (
        account_code text NOT NULL CONSTRAINT vouchers_account_fk REFERENCES accounts,
        voucher_code text NOT NULL,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT vouchers_position_key UNIQUE,
        discount_type text NOT NULL,
        discount_value numeric NOT NULL,
        currency text,
        test_codes text[],
        valid_from timestamptz,
        valid_until timestamptz,
        max_uses int NOT NULL DEFAULT 1,
        uses int NOT NULL DEFAULT 0,
        disabled boolean NOT NULL DEFAULT false,
        CONSTRAINT vouchers_pk PRIMARY KEY (account_code, voucher_code),
        CONSTRAINT vouchers_discount_type_known CHECK (discount_type IN ('PERCENT', 'AMOUNT')),
        CONSTRAINT vouchers_discount_value_range CHECK (discount_value >= 0 AND (discount_type <> 'PERCENT' OR discount_value <= 100)),
        CONSTRAINT vouchers_max_uses_positive CHECK (max_uses >= 1),
        CONSTRAINT vouchers_uses_not_negative CHECK (uses >= 0),
        CONSTRAINT vouchers_validity_order CHECK (valid_until >= valid_from)
      );

      CREATE TABLE voucher_redemptions (
        svc_eligiblity_id text NOT NULL CONSTRAINT voucher_redemptions_eligibility_fk REFERENCES eligibilities,
        account_code text NOT NULL,
        voucher_code text NOT NULL,
        redeemed_datetime timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT voucher_redemptions_pk PRIMARY KEY (svc_eligiblity_id, voucher_code),
        CONSTRAINT voucher_redemptions_voucher_fk FOREIGN KEY (account_code, voucher_code) REFERENCES vouchers
      );
      CREATE INDEX voucher_redemptions_voucher_ix ON voucher_redemptions (account_code, voucher_code);
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
