import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ImportsFileName1764500800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE eligibility_imports ADD COLUMN file_name text');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
