import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** Audit rows as they were soon after they were written, and the seal before (audit-seals.ts). */
@Entity('audit_seals')
export class AuditSeal {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  seal_id: number;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;

  /** The hash of the seal before; of the first, nothing but zeros. */
  @Column('bytea')
  before: Buffer;

  @Column('bigint', { array: true })
  ids: number[];

  /** Eight bytes of the SHA-256 of each row, in the order of `ids`: they say which row it is that changed. */
  @Column('bytea')
  digests: Buffer;

  @Column('bytea')
  hash: Buffer;

  /** The highest id of this seal and those before. */
  @Column('bigint')
  through: number;

  /** The seal below whose ids no row was to come any more when this one was made. */
  @Column('bigint', { nullable: true })
  settled: number | null;

  /** Every transaction that this seal could not see yet has a lower number, or began later. */
  @Column('bigint')
  horizon: number;

  /** Which key of `SECRETS_KEY` signed the seal. */
  @Column('bytea')
  key_id: Buffer;

  /** HMAC-SHA256 over all other columns (audit-signature.ts). */
  @Column('bytea')
  mac: Buffer;
}
