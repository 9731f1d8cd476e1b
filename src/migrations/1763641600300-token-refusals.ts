import type { MigrationInterface, QueryRunner } from 'typeorm';

export class TokenRefusals1763641600300 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE token_refusals (
        consumer_key text NOT NULL,
        address_mac bytea NOT NULL,
        since timestamptz NOT NULL,
        refused int NOT NULL,
        name text,
        CONSTRAINT token_refusals_pk PRIMARY KEY (consumer_key, address_mac)
      )
    `);
    await runner.query('CREATE INDEX token_refusals_since_ix ON token_refusals (since)');
    // What a process of 0.1.0 writes counts for all of its applications together, as it did.
    await runner.query(`ALTER TABLE login_attempts ADD COLUMN consumer_key text NOT NULL DEFAULT ''`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
