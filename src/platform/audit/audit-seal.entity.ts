import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/**
 * A seal: the digests of audit rows, taken soon after they were written, chained to the previous seal (audit-seals.ts).
 */
@Entity('audit_seals')
export class AuditSeal {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  seal_id: number;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;

  /** The hash of the previous seal; zeros for the first seal. */
  @Column('bytea')
  before: Buffer;

  @Column('bigint', { array: true })
  ids: number[];

  /** Eight bytes of the SHA-256 of each row, in the order of `ids`. They identify the row that was changed. */
  @Column('bytea')
  digests: Buffer;

  @Column('bytea')
  hash: Buffer;

  /** The highest id that this seal or an earlier seal covers. */
  @Column('bigint')
  through: number;

  /** The newest seal that was settled when this seal was created: no new row can get an id that it covers. */
  @Column('bigint', { nullable: true })
  settled: number | null;

  /** A transaction that this seal could not see has a lower number than the horizon, or began later. */
  @Column('bigint')
  horizon: number;

  /** The id of the key of `SECRETS_KEY` that signed the seal. */
  @Column('bytea')
  key_id: Buffer;

  /** HMAC-SHA256 over all other columns (audit-signature.ts). */
  @Column('bytea')
  mac: Buffer;
}
