import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Accounts1763640000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE accounts (
        account_code text CONSTRAINT accounts_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT accounts_position_key UNIQUE,
        name text NOT NULL,
        photo_retention_days int,
        video_retention_days int,
        candidate_retention_days int,
        created_datetime timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT accounts_account_code_form CHECK (account_code ~ '^[A-Z0-9]{12}$'),
        CONSTRAINT accounts_photo_retention_positive CHECK (photo_retention_days > 0),
        CONSTRAINT accounts_video_retention_positive CHECK (video_retention_days > 0),
        CONSTRAINT accounts_candidate_retention_positive CHECK (candidate_retention_days > 0)
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
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
