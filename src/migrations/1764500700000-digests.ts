import type { MigrationInterface, QueryRunner } from 'typeorm';

const KEY = 'subscription_id, effective_date, notification_position';
const BUCKET = (time: string): string => `date_bin('5 minutes', ${time}, '1970-01-01T00:00:00Z')`;

/**
 * Creates the digests of delivered notifications, which a partner compares with the digests of the notifications that
 * it has kept.
 *
 * Triggers update the digests in the transaction that records the outcome. During an upgrade, the outcomes that
 * processes of release 1.0.0 record are therefore included. Changes are appended as rows, so that no transaction waits
 * for another; the rows are added up from time to time.
 */
export class Digests1764500700000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE delivered_digests (
        subscription_id uuid NOT NULL,
        effective_date timestamptz NOT NULL,
        notification_position bigint NOT NULL,
        digest bit(256) NOT NULL,
        CONSTRAINT delivered_digests_pk PRIMARY KEY (${KEY})
      );
      CREATE TABLE digest_buckets (
        subscription_id uuid NOT NULL,
        bucket timestamptz NOT NULL,
        count int NOT NULL,
        digest bit(256) NOT NULL,
        CONSTRAINT digest_buckets_pk PRIMARY KEY (subscription_id, bucket)
      ) WITH (fillfactor = 70);
      CREATE INDEX digest_buckets_empty_ix ON digest_buckets (subscription_id) WHERE count = 0;
      CREATE TABLE digest_changes (
        subscription_id uuid NOT NULL,
        bucket timestamptz NOT NULL,
        count int NOT NULL,
        digest bit(256) NOT NULL
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

      -- The notifications up to this position were perhaps delivered before the triggers existed. A sweep goes through
      -- them, from the newest to the oldest.
      CREATE TABLE digest_backfill (position bigint NOT NULL);

      CREATE FUNCTION digest_of_notification(id uuid, event_sequence int, body text) RETURNS bit(256)
      LANGUAGE sql IMMUTABLE AS $$
        SELECT ('x' || encode(sha256(convert_to(id || E'\\n' || event_sequence || E'\\n' || body, 'UTF8')), 'hex'))::bit(256)
      $$;

      -- After a 200: adds a notification, or replaces the digest of a replayed one whose body an erasure has changed.
      CREATE FUNCTION digest_delivered() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          WITH sent AS MATERIALIZED (
            SELECT n.subscription_id, n.effective_date, n.position AS notification_position,
              digest_of_notification(n.id, n.event_sequence, n.body) AS digest
            FROM (SELECT DISTINCT notification_position FROM attempts WHERE failure IS NULL) a
              JOIN notifications n ON n.position = a.notification_position AND n.state = 'DELIVERED'),
          added AS (
            INSERT INTO delivered_digests SELECT * FROM sent ORDER BY ${KEY} ON CONFLICT DO NOTHING RETURNING *),
          stale AS MATERIALIZED (
            SELECT d.*, sent.digest AS fresh FROM delivered_digests d JOIN sent USING (${KEY})
            WHERE d.digest <> sent.digest ORDER BY ${KEY} FOR UPDATE OF d),
          replaced AS (
            UPDATE delivered_digests d SET digest = stale.fresh FROM stale
            WHERE d.subscription_id = stale.subscription_id AND d.effective_date = stale.effective_date
              AND d.notification_position = stale.notification_position
            RETURNING d.subscription_id, d.effective_date, stale.digest # stale.fresh AS digest)
          INSERT INTO digest_changes
          SELECT subscription_id, ${BUCKET('effective_date')}, sum(count), bit_xor(digest)
          FROM (
            SELECT subscription_id, effective_date, 1 AS count, digest FROM added
            UNION ALL SELECT subscription_id, effective_date, 0, digest FROM replaced) change
          GROUP BY 1, 2;
          RETURN NULL;
        END $$;
      CREATE TRIGGER notification_attempts_digest AFTER INSERT ON notification_attempts
        REFERENCING NEW TABLE AS attempts FOR EACH STATEMENT EXECUTE FUNCTION digest_delivered();

      CREATE FUNCTION digest_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          WITH removed AS (
            DELETE FROM delivered_digests d USING gone
            WHERE gone.state = 'DELIVERED' AND d.subscription_id = gone.subscription_id
              AND d.effective_date = gone.effective_date AND d.notification_position = gone.position
            RETURNING d.*)
          INSERT INTO digest_changes
          SELECT subscription_id, ${BUCKET('effective_date')}, -count(*), bit_xor(digest) FROM removed GROUP BY 1, 2;
          RETURN NULL;
        END $$;
      CREATE TRIGGER notifications_digest_deleted AFTER DELETE ON notifications
        REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION digest_deleted();

      INSERT INTO digest_backfill SELECT last_value FROM notifications_position_seq;
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations go forward only.'));
  }
}
