import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AuditLogOrigin1763641600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Rows of before stay as they are: nobody knows any more which application they came through.
    await runner.query(`
      ALTER TABLE audit_log
        ADD COLUMN application text,
        ADD COLUMN account_code text,
        ADD COLUMN changed text[],
        ADD COLUMN count int,
        ADD COLUMN address text
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
