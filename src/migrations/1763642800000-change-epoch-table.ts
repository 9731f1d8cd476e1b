import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A dump may be restored into the cluster that it came from: only the table is another then. */
export class ChangeEpochTable1763642800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE change_epoch ADD COLUMN table_oid bigint');
    await runner.query(`UPDATE change_epoch SET table_oid = 'changes'::regclass::oid::bigint`);
    await runner.query('ALTER TABLE change_epoch ALTER COLUMN table_oid SET NOT NULL');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
