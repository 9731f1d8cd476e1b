import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

export class DeliveriesJobIndex1763641310000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await buildIndex(runner, 'deliveries_job_ix', 'ON deliveries (job_id, subscription_id) WHERE job_id IS NOT NULL');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
