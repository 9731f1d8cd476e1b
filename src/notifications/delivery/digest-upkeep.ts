import { Injectable } from '@nestjs/common';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';

/**
 * The number of rows in `digest_changes` above which they are added to the buckets. Until then, each request for
 * digests reads these rows in addition to the buckets.
 */
const MANY = 500;
const BATCH = 10_000;
const BACKFILL_BATCH = 1_000;
const ROUND_MS = 1_000;

/**
 * Adds the rows of `digest_changes` to the buckets that they change. Only one process at a time runs the statement. It
 * reads and deletes only committed rows, so each change is added once.
 */
const FOLD = prepared(
  'digest-fold',
  `WITH due AS MATERIALIZED (
     SELECT EXISTS (SELECT FROM digest_changes OFFSET ${MANY}) AND pg_try_advisory_xact_lock(hashtext('digest_changes')) AS yes),
   folded AS (
     DELETE FROM digest_changes c USING due
     WHERE due.yes AND c.ctid = ANY (ARRAY(SELECT ctid FROM digest_changes LIMIT ${BATCH})) RETURNING c.*)
   INSERT INTO digest_buckets AS b
   SELECT subscription_id, bucket, sum(count), bit_xor(digest) FROM folded GROUP BY subscription_id, bucket
   ON CONFLICT ON CONSTRAINT digest_buckets_pk
   DO UPDATE SET count = b.count + excluded.count, digest = b.digest # excluded.digest`,
  acrossAccounts.workers,
);

/** Deletes buckets whose notifications were all deleted. */
const REMOVE_EMPTY = prepared(
  'digest-remove-empty',
  `DELETE FROM digest_buckets WHERE count = 0 AND digest = repeat('0', 256)::bit(256)`,
  acrossAccounts.sweep,
);

/**
 * Adds the digests of notifications that were delivered before the database was upgraded to a release with digests,
 * from the newest to the oldest. Each notification is locked, because the trigger that deletes the digest of a deleted
 * notification would miss a digest that is not yet committed. The key of the table ensures that each digest is added
 * only once, even if a trigger adds the same digest at the same time.
 */
const BACKFILL = prepared(
  'digest-backfill',
  `WITH reached AS MATERIALIZED (SELECT position FROM digest_backfill WHERE position > 0 FOR UPDATE SKIP LOCKED),
   stretch AS MATERIALIZED (
     SELECT n.position, n.state, n.subscription_id, n.effective_date, n.id, n.event_sequence, n.body
     FROM reached CROSS JOIN LATERAL (
       SELECT * FROM notifications older WHERE older.position <= reached.position
       ORDER BY older.position DESC LIMIT ${BACKFILL_BATCH} FOR KEY SHARE) n),
   added AS (
     INSERT INTO delivered_digests
     SELECT subscription_id, effective_date, position, digest_of_notification(id, event_sequence, body) FROM stretch
     WHERE state = 'DELIVERED' ORDER BY subscription_id, effective_date, position
     ON CONFLICT DO NOTHING RETURNING subscription_id, effective_date, digest),
   changed AS (
     INSERT INTO digest_changes
     SELECT subscription_id, date_bin('5 minutes', effective_date, '1970-01-01T00:00:00Z'), count(*), bit_xor(digest)
     FROM added GROUP BY 1, 2)
   UPDATE digest_backfill b SET position = coalesce((SELECT min(position) - 1 FROM stretch), 0)
   FROM reached WHERE b.position = reached.position`,
  acrossAccounts.workers,
);

/** Adds the rows of `digest_changes` to the buckets, and computes the missing digests after an upgrade. */
@Injectable()
export class DigestUpkeep {
  private isComplete = false;

  constructor(private readonly database: Database) {}

  /** Runs one round, which takes at most about a second. */
  async run(): Promise<void> {
    const endAt = performance.now() + ROUND_MS;
    while (!this.isComplete && performance.now() < endAt)
      this.isComplete = (await this.database.execute(BACKFILL)) === 0;
    await this.database.execute(FOLD);
  }

  /** Deletes the buckets of digests whose notifications were all deleted. */
  async removeEmpty(): Promise<void> {
    await this.database.execute(REMOVE_EMPTY);
  }
}
