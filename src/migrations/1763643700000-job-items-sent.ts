import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

/** What a bulk job has under way is looked for among a million of its items. */
export class JobItemsSent1763643700000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await buildIndex(runner, 'job_items_sent_ix', `ON job_items (job_id, subscription_id) WHERE outcome = 'SENT'`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
