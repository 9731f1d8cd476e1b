import { Injectable } from '@nestjs/common';
import { Database, prepared } from '../../platform/database/database.js';

/** SQL: the number of the step to which a time belongs. Steps last $4 seconds; the first begins at $2. */
const STEP = (time: string): string => `floor(date_part('epoch', ${time} - $2) / $4::int)::int`;
const BUCKET = `interval '5 minutes'`;
const ORIGIN = `'1970-01-01T00:00:00Z'`;

/**
 * Combines the digests of a partner's delivered notifications for each step of a time range. $1: the subscription; $2
 * and $3: the time range; $4: the length of a step in seconds; $5: accounts.
 *
 * 1. A five-minute bucket that lies within one step is read as a whole, together with the changes that have not yet
 *    been added to the bucket.
 * 2. If the boundary of a step divides a bucket, the notifications of the bucket are read one by one.
 * 3. After an upgrade, some notifications may still have no stored digest (digest-upkeep.ts). Their digests are
 *    computed here.
 *
 * A single statement reads all three sources, so that a notification that is being processed at the same time is
 * neither missed nor counted twice.
 */
const DIGESTS = prepared(
  'digest-read',
  `WITH whole AS (
     SELECT bucket, count, digest FROM digest_buckets
     WHERE subscription_id = $1 AND bucket >= $2 AND bucket + ${BUCKET} <= $3
     UNION ALL
     SELECT bucket, count, digest FROM digest_changes
     WHERE subscription_id = $1 AND bucket >= $2 AND bucket + ${BUCKET} <= $3),
   cut AS (
     SELECT DISTINCT date_bin(${BUCKET}, boundary.at, ${ORIGIN}) AS bucket
     FROM generate_series(0, ceil(date_part('epoch', $3 - $2) / $4::int)::int) AS n
       CROSS JOIN LATERAL (SELECT least($2 + make_interval(secs => n * $4::float8), $3) AS at) boundary
     WHERE date_bin(${BUCKET}, boundary.at, ${ORIGIN}) <> boundary.at),
   part AS (
     SELECT ${STEP('bucket')} AS step, count, digest FROM whole
     WHERE ${STEP('bucket')} = ${STEP(`(bucket + interval '299 seconds')`)}
     UNION ALL
     SELECT ${STEP('d.effective_date')}, 1, d.digest FROM cut CROSS JOIN LATERAL (
       SELECT effective_date, digest FROM delivered_digests
       WHERE subscription_id = $1 AND effective_date >= greatest(cut.bucket, $2)
         AND effective_date < least(cut.bucket + ${BUCKET}, $3) OFFSET 0) d
     UNION ALL
     SELECT ${STEP('n.effective_date')}, 1, digest_of_notification(n.id, n.event_sequence, n.body) FROM notifications n
     WHERE n.subscription_id = $1 AND n.account_code = ANY ($5::text[])
       AND n.position <= (SELECT position FROM digest_backfill WHERE position > 0)
       AND n.state = 'DELIVERED' AND n.effective_date >= $2 AND n.effective_date < $3 AND NOT EXISTS (
         SELECT FROM delivered_digests d WHERE d.subscription_id = $1 AND d.effective_date = n.effective_date
           AND d.notification_position = n.position))
   SELECT step, sum(count)::int AS count, bit_xor(digest)::text AS digest FROM part GROUP BY step`,
);

const NOTHING = '0'.repeat(64);

/** The number and the combined digest of the delivered notifications that were generated in a period. */
export interface Digest {
  readonly from: Date;
  readonly to: Date;
  readonly count: number;
  /** The XOR of the notifications' SHA-256 digests, as 64 hexadecimal digits. */
  readonly digest: string;
}

/** Reads the digests of delivered notifications. */
@Injectable()
export class DigestReader {
  constructor(private readonly database: Database) {}

  /** Returns the digest of each step of `stepS` seconds from `from` to `to`. The last step may be shorter. */
  async read(
    subscriptionId: string,
    accountCodes: readonly string[] | null,
    { from, to, stepS }: { from: Date; to: Date; stepS: number },
  ): Promise<Digest[]> {
    const rows = await this.database.query<{ step: number; count: number; digest: string }>(DIGESTS, [
      subscriptionId,
      from,
      to,
      stepS,
      accountCodes,
    ]);
    const found = new Map(rows.map((row) => [row.step, row]));
    return Array.from({ length: stepsOf(from, to, stepS) }, (_, step) => {
      const row = found.get(step);
      const at = from.getTime() + step * stepS * 1000;
      return {
        from: new Date(at),
        to: new Date(Math.min(to.getTime(), at + stepS * 1000)),
        count: row?.count ?? 0,
        digest: row === undefined ? NOTHING : BigInt(`0b${row.digest}`).toString(16).padStart(NOTHING.length, '0'),
      };
    });
  }
}

export function stepsOf(from: Date, to: Date, stepS: number): number {
  return Math.ceil((to.getTime() - from.getTime()) / 1000 / stepS);
}
