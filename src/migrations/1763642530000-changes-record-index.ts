import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the change feed tells of a record: an erasure and an export ask for it. */
export class ChangesRecordIndex1763642530000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX changes_record_ix ON changes (svc_eligiblity_id)');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
