import type { MigrationInterface, QueryRunner } from 'typeorm';

export class NotificationsCauses1763641320000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE notifications ADD COLUMN failure_reason text');
    await runner.query('ALTER TABLE notification_attempts ADD COLUMN reason text');
    await runner.query('ALTER TABLE notification_attempts ADD COLUMN subscription_id uuid');
    await runner.query('ALTER TABLE subscriptions ADD COLUMN certificate_not_after timestamptz');

    // A table of its own: a process of 0.1.0 that still runs folds error_queue_counts without the reason.
    await runner.query(`
      CREATE TABLE error_queue_causes (
        subscription_id uuid NOT NULL,
        retry text NOT NULL,
        failure text,
        reason text,
        http_status int,
        change int NOT NULL
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)`);
    // No notification changes between the copy and the new function.
    await runner.query('LOCK TABLE notifications IN SHARE ROW EXCLUSIVE MODE');
    await runner.query(`
      CREATE OR REPLACE FUNCTION count_error_queue() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF TG_OP <> 'INSERT' AND OLD.state = 'ERROR_QUEUE' THEN
            INSERT INTO error_queue_causes
            VALUES (OLD.subscription_id, OLD.retry, OLD.failure, OLD.failure_reason, OLD.http_status, -1);
          END IF;
          IF TG_OP <> 'DELETE' AND NEW.state = 'ERROR_QUEUE' THEN
            INSERT INTO error_queue_causes
            VALUES (NEW.subscription_id, NEW.retry, NEW.failure, NEW.failure_reason, NEW.http_status, 1);
          END IF;
          RETURN NULL;
        END $$`);
    await runner.query('DROP TRIGGER notifications_queue_changed ON notifications');
    await runner.query(`
      CREATE TRIGGER notifications_queue_changed AFTER UPDATE ON notifications FOR EACH ROW
        WHEN ((OLD.state = 'ERROR_QUEUE' OR NEW.state = 'ERROR_QUEUE')
          AND (OLD.state, OLD.retry, OLD.failure, OLD.failure_reason, OLD.http_status)
            IS DISTINCT FROM (NEW.state, NEW.retry, NEW.failure, NEW.failure_reason, NEW.http_status))
        EXECUTE FUNCTION count_error_queue()`);
    await runner.query(`
      INSERT INTO error_queue_causes (subscription_id, retry, failure, http_status, change)
      SELECT subscription_id, retry, failure, http_status, sum(change)::int FROM error_queue_counts
      GROUP BY subscription_id, retry, failure, http_status HAVING sum(change) <> 0`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
