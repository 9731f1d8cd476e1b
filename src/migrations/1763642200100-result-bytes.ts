import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ResultBytes1763642200100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE TABLE result_bytes (
      owner text NOT NULL,
      day date NOT NULL,
      bytes bigint NOT NULL,
      quota bigint NOT NULL,
      CONSTRAINT result_bytes_pk PRIMARY KEY (owner, day),
      CONSTRAINT result_bytes_within_quota CHECK (bytes <= quota)
    )`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
