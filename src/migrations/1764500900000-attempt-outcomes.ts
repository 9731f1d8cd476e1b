import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

/**
 * Builds the indexes that find the last success of a partner, and the first failure after it, however long the partner
 * has failed.
 */
export class AttemptOutcomes1764500900000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    const columns = 'ON notification_attempts (subscription_id, at)';
    await buildIndex(runner, 'notification_attempts_success_ix', `${columns} WHERE failure IS NULL`);
    await buildIndex(runner, 'notification_attempts_failure_ix', `${columns} WHERE failure IS NOT NULL`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
