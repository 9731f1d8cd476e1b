import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The digest of a delivered notification, computed from the body that the partner last acknowledged. */
@Entity('delivered_digests')
export class DeliveredDigest {
  @PrimaryColumn('uuid')
  subscription_id: string;

  @PrimaryColumn('timestamptz')
  effective_date: Date;

  @PrimaryColumn('bigint')
  notification_position: number;

  @Column({ type: 'bit', length: 256 })
  digest: string;
}

/**
 * The number of a partner's delivered notifications that were generated within the same five minutes, and their
 * combined digest.
 */
@Entity('digest_buckets')
export class DigestBucket {
  @PrimaryColumn('uuid')
  subscription_id: string;

  @PrimaryColumn('timestamptz')
  bucket: Date;

  @Column('int')
  count: number;

  @Column({ type: 'bit', length: 256 })
  digest: string;
}

/** A change to a {@link DigestBucket} that has not yet been added to the bucket's row. The table has no key. */
@Entity('digest_changes')
export class DigestChange {
  @PrimaryColumn('uuid')
  subscription_id: string;

  @PrimaryColumn('timestamptz')
  bucket: Date;

  @Column('int')
  count: number;

  @Column({ type: 'bit', length: 256 })
  digest: string;
}

/** The progress after an upgrade: notifications up to `position` still have no digest. The table has one row. */
@Entity('digest_backfill')
export class DigestBackfill {
  @PrimaryColumn('bigint')
  position: number;
}
