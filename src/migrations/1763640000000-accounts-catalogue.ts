import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AccountsCatalogue1763640000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE accounts (
        account_code text CONSTRAINT accounts_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT accounts_position_key UNIQUE,
        name text NOT NULL,
        created_datetime timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT accounts_account_code_form CHECK (account_code ~ '^[A-Z0-9]{12}$')
      );

      CREATE TABLE tests (
        account_code text NOT NULL CONSTRAINT tests_account_fk REFERENCES accounts,
        test_code text NOT NULL,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT tests_position_key UNIQUE,
        name text NOT NULL,
        exam_code text,
        launch_url text,
        duration_minutes int,
        change_cutoff_hours int,
        launch_minutes_before int,
        CONSTRAINT tests_pk PRIMARY KEY (account_code, test_code),
        CONSTRAINT tests_test_code_form CHECK (test_code ~ '^[A-Za-z0-9-]{1,50}$'),
        CONSTRAINT tests_duration_positive CHECK (duration_minutes > 0),
        CONSTRAINT tests_cutoff_positive CHECK (change_cutoff_hours >= 0),
        CONSTRAINT tests_launch_positive CHECK (launch_minutes_before >= 0)
      );

      CREATE TABLE test_portions (
        account_code text NOT NULL,
        test_code text NOT NULL,
        portion_code text NOT NULL,
        portion_name text,
        ordinal int NOT NULL,
        CONSTRAINT test_portions_pk PRIMARY KEY (account_code, test_code, portion_code),
        CONSTRAINT test_portions_test_fk FOREIGN KEY (account_code, test_code) REFERENCES tests ON DELETE CASCADE
      );

      CREATE TABLE schools (
        account_code text NOT NULL CONSTRAINT schools_account_fk REFERENCES accounts,
        school_code text NOT NULL,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT schools_position_key UNIQUE,
        name text NOT NULL,
        CONSTRAINT schools_pk PRIMARY KEY (account_code, school_code)
      );

      CREATE TABLE accommodations (
        account_code text NOT NULL CONSTRAINT accommodations_account_fk REFERENCES accounts,
        accommodation_code text NOT NULL,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT accommodations_position_key UNIQUE,
        name text NOT NULL,
        requires_approval boolean NOT NULL,
        CONSTRAINT accommodations_pk PRIMARY KEY (account_code, accommodation_code)
      );

      CREATE TABLE attribute_keys (
        account_code text NOT NULL CONSTRAINT attribute_keys_account_fk REFERENCES accounts,
        attribute_key text NOT NULL,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT attribute_keys_position_key UNIQUE,
        name text NOT NULL,
        CONSTRAINT attribute_keys_pk PRIMARY KEY (account_code, attribute_key)
      );

      CREATE TABLE vouchers (
        account_code text NOT NULL CONSTRAINT vouchers_account_fk REFERENCES accounts,
        voucher_code text NOT NULL,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT vouchers_position_key UNIQUE,
        discount_type text NOT NULL,
        discount_value numeric(12, 2) NOT NULL,
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
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
