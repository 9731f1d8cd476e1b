import type { MigrationInterface, QueryRunner } from 'typeorm';

export class OperatorIdentities1763642200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE TABLE operator_identities (
      issuer text NOT NULL,
      subject text NOT NULL,
      username text NOT NULL CONSTRAINT operator_identities_username_key UNIQUE
        CONSTRAINT operator_identities_user_fk REFERENCES users,
      CONSTRAINT operator_identities_pk PRIMARY KEY (issuer, subject)
    )`);
    await runner.query(`
      CREATE TABLE finished_sign_ins (
        state_hash bytea CONSTRAINT finished_sign_ins_pk PRIMARY KEY,
        forget_at timestamptz NOT NULL,
        CONSTRAINT finished_sign_ins_state_is_hashed CHECK (octet_length(state_hash) = 32)
      );
      CREATE INDEX finished_sign_ins_forget_ix ON finished_sign_ins (forget_at);
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
