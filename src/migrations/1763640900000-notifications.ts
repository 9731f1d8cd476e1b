import type { MigrationInterface, QueryRunner } from 'typeorm';

const CAUSE = `subscription_id, retry, coalesce(failure, ''), coalesce(failure_reason, ''), coalesce(http_status, 0)`;

/**
 * The work queue of delivery: one row for each notification that has to be sent, deleted once it is sent.
 *
 * The table is usually empty, and VACUUM reports that to the planner. Without countermeasures, the statements in a
 * burst after a quiet hour would be planned for a one-row table, and would scan the whole table for each notification.
 * From PostgreSQL 18 on, the table's statistics are reset: the planner then estimates by pages, and assumes at least
 * ten. Before PostgreSQL 18, the table is analysed as soon as it has grown, and VACUUM does not truncate it.
 */
const DELIVERIES = `
  CREATE TABLE deliveries (
    subscription_id uuid NOT NULL,
    notification_position bigint NOT NULL,
    booking_code text NOT NULL,
    event_sequence int NOT NULL,
    trigger text NOT NULL,
    job_id uuid,
    lease_token bigint,
    leased_until timestamptz,
    begun boolean NOT NULL DEFAULT false,
    failures int NOT NULL DEFAULT 0,
    due_datetime timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT deliveries_pk PRIMARY KEY (subscription_id, notification_position),
    CONSTRAINT deliveries_trigger_known CHECK (trigger IN ('FIRST', 'AUTO', 'MANUAL', 'REPLAY')),
    CONSTRAINT deliveries_lease_whole CHECK ((lease_token IS NULL) = (leased_until IS NULL))
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000,
    vacuum_truncate = off);
  CREATE INDEX deliveries_order_ix ON deliveries (subscription_id, booking_code, event_sequence);
  CREATE INDEX deliveries_not_auto_ix ON deliveries (subscription_id, notification_position) WHERE trigger <> 'AUTO';
  CREATE INDEX deliveries_manual_ix ON deliveries (subscription_id, notification_position) WHERE trigger = 'MANUAL';
  CREATE INDEX deliveries_job_ix ON deliveries (job_id, subscription_id) WHERE job_id IS NOT NULL;
  CREATE INDEX deliveries_failing_ix ON deliveries (subscription_id, notification_position) WHERE failures > 0;
  CREATE SEQUENCE delivery_lease_tokens;

  CREATE FUNCTION doubt_empty_deliveries() RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '100ms' AS $$
    BEGIN
      IF current_setting('server_version_num')::int >= 180000
         AND EXISTS (SELECT FROM pg_class WHERE oid = 'deliveries'::regclass AND reltuples BETWEEN 0 AND 199) THEN
        EXECUTE $restore$ SELECT pg_restore_relation_stats('schemaname', current_schema()::text, 'relname', 'deliveries',
          'relpages', 0, 'reltuples', '-1'::real) $restore$;
      END IF;
    EXCEPTION WHEN lock_not_available THEN
      -- VACUUM holds the lock at the moment. If this function waited longer, VACUUM would give up.
    END $$;
`;

/** The tables of a bulk job's parts (one for each partner) and items (one for each notification). */
const JOBS = `
  CREATE TABLE job_parts (
    job_id uuid NOT NULL CONSTRAINT job_parts_job_fk REFERENCES jobs,
    subscription_id uuid NOT NULL,
    state text NOT NULL DEFAULT 'TRYING',
    paused_because text,
    alike int NOT NULL DEFAULT 0,
    alike_status int,
    waiting int NOT NULL DEFAULT 0,
    sent int NOT NULL DEFAULT 0,
    delivered int NOT NULL DEFAULT 0,
    failed int NOT NULL DEFAULT 0,
    skipped int NOT NULL DEFAULT 0,
    resolved int NOT NULL DEFAULT 0,
    CONSTRAINT job_parts_pk PRIMARY KEY (job_id, subscription_id),
    CONSTRAINT job_parts_state_known CHECK (state IN ('TRYING', 'OPEN', 'PAUSED')),
    CONSTRAINT job_parts_each_once CHECK (waiting >= 0 AND delivered + failed <= sent)
  );

  CREATE TABLE job_items (
    job_id uuid NOT NULL,
    notification_position bigint NOT NULL,
    subscription_id uuid NOT NULL,
    outcome text NOT NULL DEFAULT 'WAITING',
    CONSTRAINT job_items_pk PRIMARY KEY (job_id, notification_position),
    CONSTRAINT job_items_outcome_known
      CHECK (outcome IN ('WAITING', 'SENT', 'DELIVERED', 'FAILED', 'SKIPPED', 'RESOLVED'))
  );
  -- The waiting and the running items of a bulk job, among up to a million items.
  CREATE INDEX job_items_waiting_ix ON job_items (job_id, subscription_id, notification_position)
    WHERE outcome = 'WAITING';
  CREATE INDEX job_items_sent_ix ON job_items (job_id, subscription_id) WHERE outcome = 'SENT';
`;

export class Notifications1763640900000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE subscriptions (
        id uuid CONSTRAINT subscriptions_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT subscriptions_position_key UNIQUE,
        account_code text NOT NULL CONSTRAINT subscriptions_account_fk REFERENCES accounts,
        name text,
        partner_url text NOT NULL,
        change_reasons text[] NOT NULL,
        auth jsonb NOT NULL,
        auth_secret bytea,
        ca_pem text,
        client_cert_pem text,
        client_key bytea,
        certificate_not_after timestamptz,
        wait_ms int,
        auto_retry_on text[] NOT NULL,
        signing_secret bytea NOT NULL,
        previous_signing_secrets bytea,
        state text NOT NULL,
        suspended_datetime timestamptz,
        suspensions tstzmultirange NOT NULL DEFAULT '{}',
        health text NOT NULL,
        health_changed_at timestamptz,
        probe_step int NOT NULL DEFAULT 0,
        probe_token bigint,
        next_probe_at timestamptz,
        probe_from timestamptz,
        max_per_second int,
        paused_from timestamptz,
        paused_until timestamptz,
        pace float8,
        pace_ceiling float8,
        pace_good int NOT NULL DEFAULT 0,
        pace_confirmed int NOT NULL DEFAULT 0,
        paced_to timestamptz,
        busy_since timestamptz,
        version int NOT NULL DEFAULT 1,
        created_datetime timestamptz NOT NULL,
        updated_datetime timestamptz NOT NULL,
        deleted_datetime timestamptz,
        CONSTRAINT subscriptions_state_known CHECK (state IN ('UNVERIFIED', 'ACTIVE', 'SUSPENDED')),
        CONSTRAINT subscriptions_health_known CHECK (health IN ('UP', 'DOWN')),
        CONSTRAINT subscriptions_probe_when_down CHECK ((health = 'DOWN') = (next_probe_at IS NOT NULL)),
        CONSTRAINT subscriptions_pause_whole CHECK ((paused_from IS NULL) = (paused_until IS NULL)),
        CONSTRAINT subscriptions_pace_range CHECK (max_per_second BETWEEN 1 AND 1000 AND pace > 0),
        CONSTRAINT subscriptions_wait_range CHECK (wait_ms BETWEEN 1000 AND 60000),
        CONSTRAINT subscriptions_client_pair CHECK ((client_cert_pem IS NULL) = (client_key IS NULL))
      );
      CREATE INDEX subscriptions_account_ix ON subscriptions (account_code) WHERE deleted_datetime IS NULL;
      CREATE INDEX subscriptions_probe_ix ON subscriptions (next_probe_at)
        WHERE health = 'DOWN' AND deleted_datetime IS NULL;
      CREATE INDEX subscriptions_busy_ix ON subscriptions (busy_since) WHERE busy_since IS NOT NULL;

      -- The notifications as operators see them. No index contains a column that changes when a notification is
      -- delivered at its first attempt, so that this update stays in its page and writes no index (HOT). Half of each
      -- page is kept free for it; with less, a delivery took 3 times as long. References to subscriptions are not
      -- checked for each row, because subscriptions outlive the rows that name them.
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
        failure_reason text,
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
      CREATE INDEX notifications_candidate_ix ON notifications ((body::json->>'candidate_id'), position);
      CREATE INDEX notifications_resolved_ix ON notifications (position) WHERE resolved_datetime IS NOT NULL;
      -- The reasons that operators wrote, which an erasure searches.
      CREATE INDEX notifications_reason_ix ON notifications (account_code) WHERE reason IS NOT NULL;

      -- A page of the error queue is found in this index alone, whatever the filter.
      CREATE INDEX notifications_queue_ix ON notifications (position)
        INCLUDE (account_code, subscription_id, change_reason, booking_code, retry, failure, failure_reason, http_status,
          created_datetime)
        WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_account_ix ON notifications (account_code, position) WHERE queued_datetime IS NOT NULL;
      -- The notifications of a partner in the error queue, with their bookings, which are counted from this index
      -- instead of a million rows.
      CREATE INDEX notifications_queue_partner_ix ON notifications (subscription_id, position) INCLUDE (booking_code)
        WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_failure_ix ON notifications (failure, position) WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_http_status_ix ON notifications (http_status, position)
        WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_reason_ix ON notifications (change_reason, position) WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_created_ix ON notifications (created_datetime) WHERE queued_datetime IS NOT NULL;
      CREATE INDEX notifications_queue_auto_ix ON notifications (subscription_id, queued_datetime) WHERE retry = 'AUTO';
      CREATE INDEX notifications_queue_origin_ix ON notifications (${CAUSE}, position)
        WHERE queued_datetime IS NOT NULL;
      -- The texts are UTC seconds, which sort like the times.
      CREATE INDEX notifications_queue_exam_ix ON notifications (${CAUSE}, (body::json->>'booking_on'))
        WHERE queued_datetime IS NOT NULL;

      CREATE TABLE notification_attempts (
        notification_position bigint NOT NULL,
        subscription_id uuid NOT NULL,
        at timestamptz NOT NULL,
        duration_ms int NOT NULL,
        trigger text NOT NULL,
        http_status int,
        failure text,
        reason text,
        excerpt text
      );
      CREATE INDEX notification_attempts_notification_ix ON notification_attempts (notification_position, at);
      CREATE INDEX notification_attempts_subscription_ix ON notification_attempts (subscription_id, at)
        INCLUDE (duration_ms, failure);

      -- The number of notifications in the error queue by cause. Changes are appended, so that no transaction waits for
      -- a counter, and from time to time the rows of a cause are replaced by one.
      CREATE TABLE error_queue_causes (
        subscription_id uuid NOT NULL,
        retry text NOT NULL,
        failure text,
        reason text,
        http_status int,
        change int NOT NULL
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
      CREATE FUNCTION count_error_queue() RETURNS trigger LANGUAGE plpgsql AS $$
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
        END $$;
      CREATE TRIGGER notifications_queue_entered AFTER INSERT ON notifications FOR EACH ROW
        WHEN (NEW.state = 'ERROR_QUEUE') EXECUTE FUNCTION count_error_queue();
      CREATE TRIGGER notifications_queue_changed AFTER UPDATE ON notifications FOR EACH ROW
        WHEN ((OLD.state = 'ERROR_QUEUE' OR NEW.state = 'ERROR_QUEUE')
          AND (OLD.state, OLD.retry, OLD.failure, OLD.failure_reason, OLD.http_status)
            IS DISTINCT FROM (NEW.state, NEW.retry, NEW.failure, NEW.failure_reason, NEW.http_status))
        EXECUTE FUNCTION count_error_queue();
      CREATE TRIGGER notifications_queue_left AFTER DELETE ON notifications FOR EACH ROW
        WHEN (OLD.state = 'ERROR_QUEUE') EXECUTE FUNCTION count_error_queue();
    `);
    await runner.query(DELIVERIES);
    await runner.query(JOBS);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
