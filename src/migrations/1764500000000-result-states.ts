import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ResultStates1764500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Results without a row are RELEASED.
      CREATE TABLE result_states (
        svc_eligiblity_id text NOT NULL CONSTRAINT result_states_eligibility_fk REFERENCES eligibilities,
        account_code text NOT NULL,
        state text NOT NULL,
        reason text NOT NULL,
        CONSTRAINT result_states_pk PRIMARY KEY (svc_eligiblity_id, account_code),
        CONSTRAINT result_states_state_known CHECK (state IN ('RELEASED', 'HELD', 'REVOKED'))
      )`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
