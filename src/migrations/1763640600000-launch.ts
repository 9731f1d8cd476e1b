import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Launch1763640600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE launches (
        token_hash bytea CONSTRAINT launches_pk PRIMARY KEY,
        svc_eligiblity_id text NOT NULL CONSTRAINT launches_eligibility_fk REFERENCES eligibilities,
        expires_at timestamptz NOT NULL,
        used_at timestamptz
      );
      CREATE INDEX launches_used_ix ON launches (svc_eligiblity_id, used_at) WHERE used_at IS NOT NULL;
      CREATE INDEX launches_unused_ix ON launches (expires_at) WHERE used_at IS NULL;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
