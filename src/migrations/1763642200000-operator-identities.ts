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
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
