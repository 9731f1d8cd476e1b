import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RetakePolicies1764500100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tests ADD COLUMN retake jsonb');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
