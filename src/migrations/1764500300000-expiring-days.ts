import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ExpiringDays1764500300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE accounts ADD COLUMN expiring_days int[] NOT NULL DEFAULT '{}';

      -- The announcements of ends of windows that were made, so that each is made once.
      CREATE TABLE expiry_notices (
        svc_eligiblity_id text NOT NULL,
        account_code text NOT NULL,
        eligibility_end_date timestamptz NOT NULL,
        days int NOT NULL,
        CONSTRAINT expiry_notices_pk PRIMARY KEY (svc_eligiblity_id, eligibility_end_date, days, account_code)
      );
      CREATE INDEX expiry_notices_end_ix ON expiry_notices (eligibility_end_date);
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
