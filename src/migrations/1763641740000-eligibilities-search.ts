import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

/** What changed in an account since a moment. */
export class EligibilitiesSearch1763641740000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await buildIndex(runner, 'eligibilities_updated_ix', 'ON eligibilities (account_code, updated_datetime)');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
