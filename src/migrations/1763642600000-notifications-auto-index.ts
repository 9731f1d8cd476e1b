import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

export class NotificationsAutoIndex1763642600000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await buildIndex(
      runner,
      'notifications_queue_auto_ix',
      `ON notifications (subscription_id, queued_datetime) WHERE retry = 'AUTO'`,
    );
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS notifications_queue_retry_ix');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
