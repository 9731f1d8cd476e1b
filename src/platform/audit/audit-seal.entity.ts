import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/**
 * A seal of the audit log: digests of audit entries, taken soon after they were written and chained to the previous
 * seal (audit-seals.ts).
 */
@Entity('audit_seals')
export class AuditSeal {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  seal_id: number;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;

  /** The hash of the previous seal; zeros in the first seal. */
  @Column('bytea')
  before: Buffer;

  @Column('bigint', { array: true })
  ids: number[];

  /** Eight bytes of the SHA-256 of each audit entry, in the order of `ids`. They identify an entry that was changed. */
  @Column('bytea')
  digests: Buffer;

  @Column('bytea')
  hash: Buffer;

  /** The highest id of an audit entry that this seal or a previous one covers. */
  @Column('bigint')
  through: number;

  /**
   * The newest seal that was settled when this seal was created. No new audit entry can get an id that a settled seal
   * covers.
   */
  @Column('bigint', { nullable: true })
  settled: number | null;

  /**
   * The horizon of the seal's snapshot: a transaction whose entries the seal could not see has a lower number, or began
   * later.
   */
  @Column('bigint')
  horizon: number;

  /** The id of the key in `SECRETS_KEY` that signed the seal. */
  @Column('bytea')
  key_id: Buffer;

  /** The signature: HMAC-SHA256 over all other columns (audit-signature.ts). */
  @Column('bytea')
  mac: Buffer;
}
