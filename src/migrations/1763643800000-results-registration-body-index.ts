import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

/** A registration result that comes again is known by its body when nothing in it leads to its exam any more. */
export class ResultsRegistrationBodyIndex1763643800000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await buildIndex(
      runner,
      'result_revisions_registration_body_ix',
      `ON result_revisions (body_hash) WHERE source = 'REGISTRATION'`,
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
