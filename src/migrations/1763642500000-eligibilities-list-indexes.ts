import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

/** The records of a status, or of a test, in the order of the account's list: a filter that matches nothing reads nothing. */
export class EligibilitiesListIndexes1763642500000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await buildIndex(runner, 'eligibilities_status_ix', 'ON eligibilities (account_code, status, position DESC)');
    await buildIndex(
      runner,
      'eligibilities_test_ix',
      'ON eligibilities (account_code, test_code, status, position DESC)',
    );
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
