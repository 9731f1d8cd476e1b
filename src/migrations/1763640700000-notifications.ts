import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Notifications1763640700000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE subscriptions (
        id uuid CONSTRAINT subscriptions_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT subscriptions_position_key UNIQUE,
        account_code text NOT NULL CONSTRAINT subscriptions_account_fk REFERENCES accounts,
        partner_url text NOT NULL,
        change_reasons text[] NOT NULL,
        auth jsonb NOT NULL,
        auth_secret bytea,
        ca_pem text,
        client_cert_pem text,
        client_key bytea,
        wait_ms int,
        auto_retry_on text[] NOT NULL,
        signing_secret bytea NOT NULL,
        previous_signing_secret bytea,
        previous_signing_secret_until timestamptz,
        state text NOT NULL,
        health text NOT NULL,
        health_changed_at timestamptz,
        probe_step int NOT NULL DEFAULT 0,
        next_probe_at timestamptz,
        version int NOT NULL DEFAULT 1,
        created_datetime timestamptz NOT NULL,
        updated_datetime timestamptz NOT NULL,
        deleted_datetime timestamptz,
        CONSTRAINT subscriptions_state_known CHECK (state IN ('UNVERIFIED', 'ACTIVE', 'SUSPENDED')),
        CONSTRAINT subscriptions_health_known CHECK (health IN ('UP', 'DOWN')),
        CONSTRAINT subscriptions_probe_when_down CHECK ((health = 'DOWN') = (next_probe_at IS NOT NULL)),
        CONSTRAINT subscriptions_wait_range CHECK (wait_ms BETWEEN 1000 AND 60000),
        CONSTRAINT subscriptions_client_pair CHECK ((client_cert_pem IS NULL) = (client_key IS NULL))
      );
      CREATE INDEX subscriptions_account_ix ON subscriptions (account_code) WHERE deleted_datetime IS NULL;
      CREATE INDEX subscriptions_probe_ix ON subscriptions (next_probe_at)
        WHERE health = 'DOWN' AND deleted_datetime IS NULL;

      -- What operators see. No index names a column that changes when a notification is delivered, so that this update
      -- stays in its page and writes no index (HOT); half of each page is free for that: with less, a delivery took 3 times as long. References to subscriptions
      -- are not checked for each row: subscriptions are never taken away.
      CREATE TABLE notifications (
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT notifications_pk PRIMARY KEY,
        id uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT notifications_id_key UNIQUE,
        event_id uuid NOT NULL,
        subscription_id uuid NOT NULL,
        account_code text NOT NULL,
        change_reason text NOT NULL,
        booking_code text NOT NULL,
        event_sequence int NOT NULL,
        effective_date timestamptz NOT NULL,
        traceparent text,
        body text NOT NULL,
        state text NOT NULL,
        retry text,
        failure text,
        http_status int,
        reason text,
        created_datetime timestamptz NOT NULL DEFAULT clock_timestamp(),
        queued_datetime timestamptz,
        delivered_datetime timestamptz,
        resolved_datetime timestamptz,
        CONSTRAINT notifications_event_key UNIQUE (event_id, subscription_id),
        CONSTRAINT notifications_state_known CHECK (state IN ('PENDING', 'DELIVERED', 'ERROR_QUEUE', 'RESOLVED')),
        CONSTRAINT notifications_retry_in_queue CHECK
          (CASE WHEN state = 'ERROR_QUEUE' THEN coalesce(retry IN ('AUTO', 'MANUAL'), false) ELSE retry IS NULL END),
        CONSTRAINT notifications_queued_in_queue CHECK ((queued_datetime IS NOT NULL) = (state = 'ERROR_QUEUE')),
        CONSTRAINT notifications_delivered_when CHECK ((delivered_datetime IS NOT NULL) = (state = 'DELIVERED')),
        CONSTRAINT notifications_resolved_when CHECK ((resolved_datetime IS NOT NULL) = (state = 'RESOLVED'))
      ) WITH (fillfactor = 45);
      CREATE INDEX notifications_account_ix ON notifications (account_code, position);
      CREATE INDEX notifications_subscription_ix ON notifications (subscription_id, position);
      CREATE INDEX notifications_booking_ix ON notifications (booking_code, position);
      CREATE INDEX notifications_resolved_ix ON notifications (position) WHERE resolved_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_ix ON notifications (position) WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_account_ix ON notifications (account_code, position)
        WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_cause_ix ON notifications
        (subscription_id, retry, coalesce(failure, ''), coalesce(http_status, 0), position)
        WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_subscription_ix ON notifications (subscription_id, position)
        WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_failure_ix ON notifications (failure, position) WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_http_status_ix ON notifications (http_status, position)
        WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_reason_ix ON notifications (change_reason, position)
        WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_retry_ix ON notifications (retry, queued_datetime)
        WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_created_ix ON notifications (created_datetime) WHERE queued_datetime IS NOT NULL;

      -- The work still to do: one row for each notification that the delivery loop has to send, gone once it is done.
      CREATE TABLE deliveries (
        subscription_id uuid NOT NULL,
        notification_position bigint NOT NULL,
        booking_code text NOT NULL,
        event_sequence int NOT NULL,
        trigger text NOT NULL,
        resend_id uuid,
        lease_token bigint,
        leased_until timestamptz,
        due_datetime timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT deliveries_pk PRIMARY KEY (subscription_id, notification_position),
        CONSTRAINT deliveries_trigger_known CHECK (trigger IN ('FIRST', 'AUTO', 'MANUAL')),
        CONSTRAINT deliveries_lease_whole CHECK ((lease_token IS NULL) = (leased_until IS NULL))
      ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);
      CREATE INDEX deliveries_order_ix ON deliveries (subscription_id, booking_code, event_sequence);
      CREATE INDEX deliveries_not_auto_ix ON deliveries (subscription_id, notification_position) WHERE trigger <> 'AUTO';
      CREATE INDEX deliveries_manual_ix ON deliveries (subscription_id, notification_position) WHERE trigger = 'MANUAL';
      CREATE SEQUENCE delivery_lease_tokens;

      CREATE TABLE notification_attempts (
        notification_position bigint NOT NULL,
        at timestamptz NOT NULL,
        duration_ms int NOT NULL,
        trigger text NOT NULL,
        http_status int,
        failure text,
        excerpt text
      );
      CREATE INDEX notification_attempts_notification_ix ON notification_attempts (notification_position, at);

      CREATE TABLE resend_jobs (
        id uuid CONSTRAINT resend_jobs_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT resend_jobs_position_key UNIQUE,
        state text NOT NULL,
        canary boolean NOT NULL DEFAULT true,
        filter jsonb NOT NULL,
        reason text NOT NULL,
        actor text NOT NULL,
        matched int NOT NULL,
        sent int NOT NULL DEFAULT 0,
        delivered int NOT NULL DEFAULT 0,
        failed int NOT NULL DEFAULT 0,
        skipped int NOT NULL DEFAULT 0,
        created_datetime timestamptz NOT NULL,
        CONSTRAINT resend_jobs_state_known CHECK (state IN ('RUNNING', 'PAUSED', 'DONE', 'ABORTED')),
        CONSTRAINT resend_jobs_each_once CHECK (sent + skipped <= matched AND delivered + failed <= sent)
      );
      CREATE INDEX resend_jobs_running_ix ON resend_jobs (position) WHERE state = 'RUNNING';

      CREATE TABLE resend_items (
        resend_id uuid NOT NULL CONSTRAINT resend_items_job_fk REFERENCES resend_jobs ON DELETE CASCADE,
        notification_position bigint NOT NULL,
        state text NOT NULL DEFAULT 'WAITING',
        CONSTRAINT resend_items_pk PRIMARY KEY (resend_id, notification_position),
        CONSTRAINT resend_items_state_known CHECK (state IN ('WAITING', 'SENT', 'DELIVERED', 'FAILED', 'SKIPPED'))
      );
      CREATE INDEX resend_items_waiting_ix ON resend_items (resend_id, notification_position) WHERE state = 'WAITING';

      -- How many queued notifications have which cause. Changes are appended, so that nobody waits for a counter,
      -- and folded into one row for each cause from time to time.
      CREATE TABLE error_queue_counts (
        subscription_id uuid NOT NULL,
        retry text NOT NULL,
        failure text,
        http_status int,
        change int NOT NULL
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
      CREATE FUNCTION count_error_queue() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF TG_OP <> 'INSERT' AND OLD.state = 'ERROR_QUEUE' THEN
            INSERT INTO error_queue_counts VALUES (OLD.subscription_id, OLD.retry, OLD.failure, OLD.http_status, -1);
          END IF;
          IF TG_OP <> 'DELETE' AND NEW.state = 'ERROR_QUEUE' THEN
            INSERT INTO error_queue_counts VALUES (NEW.subscription_id, NEW.retry, NEW.failure, NEW.http_status, 1);
          END IF;
          RETURN NULL;
        END $$;
      CREATE TRIGGER notifications_queue_entered AFTER INSERT ON notifications FOR EACH ROW
        WHEN (NEW.state = 'ERROR_QUEUE') EXECUTE FUNCTION count_error_queue();
      CREATE TRIGGER notifications_queue_changed AFTER UPDATE ON notifications FOR EACH ROW
        WHEN ((OLD.state = 'ERROR_QUEUE' OR NEW.state = 'ERROR_QUEUE')
          AND (OLD.state, OLD.retry, OLD.failure, OLD.http_status)
            IS DISTINCT FROM (NEW.state, NEW.retry, NEW.failure, NEW.http_status))
        EXECUTE FUNCTION count_error_queue();
      CREATE TRIGGER notifications_queue_left AFTER DELETE ON notifications FOR EACH ROW
        WHEN (OLD.state = 'ERROR_QUEUE') EXECUTE FUNCTION count_error_queue();
    `);
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
