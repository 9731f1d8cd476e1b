import type { MigrationInterface, QueryRunner } from 'typeorm';

const SCOPES = `ARRAY['read', 'create', 'update', 'delete', 'launch', 'results', 'bookings', 'admin', 'support']`;

export class UsersApplicationsSupport1763641600200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE users
        DROP CONSTRAINT users_scopes_known,
        ADD CONSTRAINT users_scopes_known CHECK (scopes <@ ${SCOPES})
    `);
    await runner.query(`
      ALTER TABLE applications
        DROP CONSTRAINT applications_scopes_known,
        ADD CONSTRAINT applications_scopes_known CHECK (scopes <@ ${SCOPES})
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
