import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ErrorQueuePage1763640800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // A page of the queue is read from the index alone. None of these columns changes when a notification is delivered at
    // its first attempt, which therefore still writes no index.
    await runner.query(`
      DROP INDEX notifications_queue_ix;
      CREATE INDEX notifications_queue_ix ON notifications (position)
        INCLUDE (id, account_code, subscription_id, change_reason, booking_code, event_sequence, effective_date, retry,
          failure, http_status, created_datetime)
        WHERE queued_datetime IS NOT NULL;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
