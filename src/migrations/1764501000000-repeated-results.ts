import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the time at which a refused result arrived again, from which its period of storage begins anew. */
export class RepeatedResults1764501000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE unmatched_results ADD COLUMN repeated_datetime timestamptz');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
