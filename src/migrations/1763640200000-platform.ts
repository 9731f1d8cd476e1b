import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Platform1763640200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE domain_events (
        event_id uuid CONSTRAINT domain_events_pk PRIMARY KEY,
        name text NOT NULL,
        account_code text NOT NULL,
        stream text NOT NULL,
        sequence int NOT NULL,
        data jsonb NOT NULL,
        occurred_at timestamptz NOT NULL,
        traceparent text,
        claimed_until timestamptz NOT NULL,
        settled_at timestamptz,
        CONSTRAINT domain_events_sequence_key UNIQUE (stream, sequence)
      );
      CREATE INDEX domain_events_unsettled_ix ON domain_events (claimed_until) WHERE settled_at IS NULL;
      CREATE INDEX domain_events_settled_ix ON domain_events (settled_at) WHERE settled_at IS NOT NULL;

      CREATE TABLE audit_log (
        id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT audit_log_pk PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT now(),
        actor text NOT NULL,
        action text NOT NULL,
        subject text NOT NULL,
        request_id text
      );
      CREATE INDEX audit_log_subject_ix ON audit_log (subject, id);
      CREATE INDEX audit_log_actor_ix ON audit_log (actor, id);
      CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'audit_log is append-only'; END $$;
      CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

      CREATE TABLE idempotency_keys (
        consumer_key text NOT NULL,
        username text NOT NULL,
        idempotency_key text NOT NULL,
        request_hash bytea NOT NULL,
        status int NOT NULL,
        body text,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT idempotency_keys_pk PRIMARY KEY (consumer_key, username, idempotency_key)
      );
      CREATE INDEX idempotency_keys_created_ix ON idempotency_keys (created_at);
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
