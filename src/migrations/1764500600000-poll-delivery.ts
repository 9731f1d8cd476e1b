import type { MigrationInterface, QueryRunner } from 'typeorm';

export class PollDelivery1764500600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE subscriptions
        ADD COLUMN delivery text NOT NULL DEFAULT 'PUSH',
        ADD COLUMN verified_url text,
        ADD CONSTRAINT subscriptions_delivery_known CHECK (delivery IN ('PUSH', 'POLL'));

      -- Processes of release 1.0.0 do not know the column 'delivery'. They send nothing to a partner that is paused and
      -- UP, so that a polled partner always is. The database keeps it so, whichever process writes the row.
      CREATE FUNCTION pause_polled_subscription() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          NEW.health := 'UP';
          NEW.next_probe_at := NULL;
          NEW.probe_from := NULL;
          NEW.probe_token := NULL;
          NEW.busy_since := NULL;
          NEW.paused_from := '1970-01-01T00:00:00Z';
          NEW.paused_until := '9999-12-31T00:00:00Z';
          RETURN NEW;
        END $$;
      CREATE TRIGGER subscriptions_polled BEFORE INSERT OR UPDATE ON subscriptions FOR EACH ROW
        WHEN (NEW.delivery = 'POLL') EXECUTE FUNCTION pause_polled_subscription();

      -- The notifications that partners have polled and not yet acknowledged. The row of 'deliveries' has the same lease.
      CREATE TABLE poll_offers (
        notification_id uuid NOT NULL,
        lease_token bigint NOT NULL,
        subscription_id uuid NOT NULL,
        notification_position bigint NOT NULL,
        trigger text NOT NULL,
        job_id uuid,
        caller text NOT NULL,
        offered_datetime timestamptz NOT NULL,
        lease_s int NOT NULL,
        leased_until timestamptz NOT NULL,
        CONSTRAINT poll_offers_pk PRIMARY KEY (notification_id, lease_token)
      ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);
      CREATE INDEX poll_offers_delivery_ix ON poll_offers (notification_position, lease_token);
      CREATE INDEX poll_offers_lease_ix ON poll_offers (leased_until);
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
