import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ResultsCredentials1763641600700 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE result_revisions ADD COLUMN credentials bytea
    `);
    await runner.query(`
      ALTER TABLE unmatched_results
        ADD COLUMN credentials bytea,
        ADD COLUMN account_codes text[] NOT NULL DEFAULT '{}',
        ADD COLUMN staff_account_codes text[] NOT NULL DEFAULT '{}',
        ADD CONSTRAINT unmatched_results_staff_of_account
          CHECK (account_code IS NULL OR staff_account_codes <@ ARRAY[account_code])
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
