import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { Scope } from '../platform/http/access.js';
import { Application } from './application.entity.js';
import { User } from './user.entity.js';

/** All tokens that descend from one password grant; they end together. */
@Entity('token_families')
@Index('token_families_user_ix', ['username'], { where: '(revoked_at IS NULL)' })
@Index('token_families_expiry_ix', ['expiresAt'])
export class TokenFamily {
  @PrimaryColumn('uuid', { name: 'family_id', primaryKeyConstraintName: 'token_families_pk' })
  familyId: string;

  @Column('text', { name: 'consumer_key' })
  @ForeignKey(() => Application, { name: 'token_families_application_fk' })
  consumerKey: string;

  @Column('text')
  @ForeignKey(() => User, { name: 'token_families_user_fk' })
  username: string;

  /** What was granted at first: a refresh may ask for less, never for more. */
  @Column('text', { array: true })
  scopes: Scope[];

  @Column('timestamptz', { name: 'granted_at', default: () => 'now()' })
  grantedAt: Date;

  /** The end of refreshing, whatever happens in between. */
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt: Date | null;
}

@Entity('access_tokens')
@Index('access_tokens_family_ix', ['familyId'])
@Index('access_tokens_expiry_ix', ['expiresAt'])
@Check('access_tokens_token_is_hashed', 'octet_length(token_hash) = 32')
export class AccessToken {
  @PrimaryColumn('bytea', { name: 'token_hash', primaryKeyConstraintName: 'access_tokens_pk' })
  tokenHash: Buffer;

  @Column('uuid', { name: 'family_id' })
  @ForeignKey(() => TokenFamily, { name: 'access_tokens_family_fk', onDelete: 'CASCADE' })
  familyId: string;

  @Column('text', { array: true })
  scopes: Scope[];

  @Column('timestamptz', { name: 'issued_at', default: () => 'now()' })
  issuedAt: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;
}

@Entity('refresh_tokens')
@Index('refresh_tokens_family_ix', ['familyId'])
@Check('refresh_tokens_token_is_hashed', 'octet_length(token_hash) = 32')
export class RefreshToken {
  @PrimaryColumn('bytea', { name: 'token_hash', primaryKeyConstraintName: 'refresh_tokens_pk' })
  tokenHash: Buffer;

  @Column('uuid', { name: 'family_id' })
  @ForeignKey(() => TokenFamily, { name: 'refresh_tokens_family_fk', onDelete: 'CASCADE' })
  familyId: string;

  @Column('timestamptz', { name: 'issued_at', default: () => 'now()' })
  issuedAt: Date;

  /** Kept after use, so that a second use is known for what it is. */
  @Column('timestamptz', { name: 'used_at', nullable: true })
  usedAt: Date | null;
}
