import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndex } from '../platform/database/build-index.js';

/** Reasons that operators wrote, which an erasure looks through. What a partner has in the error queue, with its bookings: they are counted from the index, and not from a million rows. */
export class NotificationsQueuePartnerIndex1763643900000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await buildIndex(
      runner,
      'notifications_queue_partner_ix',
      `ON notifications (subscription_id, position) INCLUDE (booking_code) WHERE queued_datetime IS NOT NULL`,
    );
    await buildIndex(runner, 'notifications_reason_ix', 'ON notifications (account_code) WHERE reason IS NOT NULL');
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS notifications_queue_subscription_ix');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
