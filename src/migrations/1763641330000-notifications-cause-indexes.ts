import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

const CAUSE = `subscription_id, retry, coalesce(failure, ''), coalesce(failure_reason, ''), coalesce(http_status, 0)`;

export class NotificationsCauseIndexes1763641330000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await buildIndex(
      runner,
      'notifications_queue_origin_ix',
      `ON notifications (${CAUSE}, position) WHERE queued_datetime IS NOT NULL`,
    );
    // The texts are UTC seconds, which sort as the moments do.
    await buildIndex(
      runner,
      'notifications_queue_exam_ix',
      `ON notifications (${CAUSE}, (body::json->>'booking_on')) WHERE queued_datetime IS NOT NULL`,
    );
    await buildIndex(
      runner,
      'notifications_candidate_ix',
      `ON notifications ((body::json->>'candidate_id'), position)`,
    );
    await buildIndex(
      runner,
      'notification_attempts_subscription_ix',
      'ON notification_attempts (subscription_id, at) INCLUDE (duration_ms, failure) WHERE subscription_id IS NOT NULL',
    );
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS notifications_queue_cause_ix');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
