import type { MigrationInterface, QueryRunner } from 'typeorm';

export class UnmatchedResultsRejected1763643220000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE unmatched_results ADD COLUMN rejected_datetime timestamptz, ADD COLUMN rejected_by text,
         ADD COLUMN reject_reason text`,
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
