import type { MigrationInterface, QueryRunner } from 'typeorm';

export class UnmatchedResultsSettledBy1763641720000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE unmatched_results ADD settled_by text');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
