import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RetentionColumns1763641810000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE accounts
        ADD COLUMN photo_retention_days int CONSTRAINT accounts_photo_retention_positive CHECK (photo_retention_days > 0),
        ADD COLUMN video_retention_days int CONSTRAINT accounts_video_retention_positive CHECK (video_retention_days > 0),
        ADD COLUMN candidate_retention_days int
          CONSTRAINT accounts_candidate_retention_positive CHECK (candidate_retention_days > 0)
    `);
    await runner.query(`ALTER TABLE idempotency_keys ADD COLUMN subjects text[] NOT NULL DEFAULT '{}'`);
    await runner.query('ALTER TABLE eligibilities ADD COLUMN erased_datetime timestamptz');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
