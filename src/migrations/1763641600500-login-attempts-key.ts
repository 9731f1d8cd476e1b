import type { MigrationInterface, QueryRunner } from 'typeorm';

export class LoginAttemptsKey1763641600500 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Under its old name, which a process of 0.1.0 names in its statement.
    await runner.query(`
      ALTER TABLE login_attempts
        DROP CONSTRAINT login_attempts_pk,
        ADD CONSTRAINT login_attempts_pk PRIMARY KEY USING INDEX login_attempts_key_ix
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
