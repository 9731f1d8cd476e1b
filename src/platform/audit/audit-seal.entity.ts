import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/**
 * A seal of the audit log: digests of audit entries, which are computed soon after the entries were written. Each seal
 * is chained to the previous seal (audit-seals.ts).
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

  /**
   * The first eight bytes of the SHA-256 of each sealed audit entry, in the order of `ids`. If an entry was changed,
   * its digest shows this.
   */
  @Column('bytea')
  digests: Buffer;

  @Column('bytea')
  hash: Buffer;

  /** The highest id of an audit entry that this seal or a previous seal covers. */
  @Column('bigint')
  through: number;

  /**
   * The newest seal that was settled when this seal was created. A seal is settled when no open transaction can add
   * another entry with an id in the range that the seal covers.
   */
  @Column('bigint', { nullable: true })
  settled: number | null;

  /**
   * The lowest transaction number that was not yet assigned when the seal was created (`xmax` of the snapshot). The
   * seal is settled when every transaction below this number has ended and the seal is at least 10 s old.
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
