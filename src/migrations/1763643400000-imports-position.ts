import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Imports of one millisecond have an order too, so that a page of their list leaves none of them out. */
export class ImportsPosition1763643400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE eligibility_imports ADD position bigint GENERATED ALWAYS AS IDENTITY');
    await runner.query('CREATE UNIQUE INDEX eligibility_imports_position_ix ON eligibility_imports (position)');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
