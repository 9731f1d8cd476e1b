import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Alerts1764500400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE alerts (
        name text NOT NULL CONSTRAINT alerts_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT alerts_position_key UNIQUE,
        kind text NOT NULL CONSTRAINT alerts_kind_known CHECK (kind IN ('EMAIL', 'WEBHOOK')),
        recipients text[],
        url text,
        header_names text[] NOT NULL DEFAULT '{}',
        header_values bytea,
        watched_accounts text[],
        conditions text[] NOT NULL,
        quiet_s integer NOT NULL,
        disabled boolean NOT NULL,
        active_from timestamptz NOT NULL,
        failures integer NOT NULL DEFAULT 0,
        retry_datetime timestamptz,
        lease_token bigint,
        leased_until timestamptz,
        last_sent_datetime timestamptz,
        last_error text,
        last_error_datetime timestamptz,
        created_datetime timestamptz NOT NULL,
        updated_datetime timestamptz NOT NULL,
        CONSTRAINT alerts_target_of_kind CHECK (
          (kind = 'EMAIL') = (recipients IS NOT NULL) AND (kind = 'WEBHOOK') = (url IS NOT NULL))
      );
      -- The conditions that hold now, or that were reported lately, one row for each alert and subject.
      CREATE TABLE alert_occurrences (
        alert_name text NOT NULL CONSTRAINT alert_occurrences_alert_fk REFERENCES alerts ON DELETE CASCADE,
        condition text NOT NULL,
        subject text NOT NULL,
        is_current boolean NOT NULL,
        seen_datetime timestamptz NOT NULL,
        seen_mark bigint,
        told_mark bigint,
        told_datetime timestamptz,
        CONSTRAINT alert_occurrences_pk PRIMARY KEY (alert_name, condition, subject)
      );
      CREATE TABLE alert_messages (
        id uuid NOT NULL CONSTRAINT alert_messages_pk PRIMARY KEY,
        position bigint GENERATED ALWAYS AS IDENTITY,
        alert_name text NOT NULL CONSTRAINT alert_messages_alert_fk REFERENCES alerts ON DELETE CASCADE,
        content jsonb NOT NULL,
        created_datetime timestamptz NOT NULL,
        sent_datetime timestamptz
      );
      CREATE INDEX alert_messages_alert_ix ON alert_messages (alert_name, position);
      CREATE INDEX alert_messages_unsent_ix ON alert_messages (alert_name, position) WHERE sent_datetime IS NULL;
      CREATE INDEX alert_messages_created_ix ON alert_messages (created_datetime);`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
