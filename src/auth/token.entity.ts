import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { Scope } from '../platform/context/caller.js';
import { Application } from './application.entity.js';
import { User } from './user.entity.js';

/** All tokens that descend from one password grant; they end together. */
@Entity('token_families')
@Index('token_families_user_ix', ['username'], { where: '(revoked_at IS NULL)' })
@Index('token_families_expiry_ix', ['expires_at'])
export class TokenFamily {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'token_families_pk' })
  family_id: string;

  @Column('text')
  @ForeignKey(() => Application, { name: 'token_families_application_fk' })
  consumer_key: string;

  @Column('text')
  @ForeignKey(() => User, { name: 'token_families_user_fk' })
  username: string;

  /** What was granted at first: a refresh may ask for less, never for more. */
  @Column('text', { array: true })
  scopes: Scope[];

  @Column('timestamptz', { default: () => 'now()' })
  granted_at: Date;

  /** The end of refreshing, whatever happens in between. */
  @Column('timestamptz')
  expires_at: Date;

  @Column('timestamptz', { nullable: true })
  revoked_at: Date | null;
}

@Entity('access_tokens')
@Index('access_tokens_family_ix', ['family_id'])
@Index('access_tokens_expiry_ix', ['expires_at'])
@Check('access_tokens_token_is_hashed', 'octet_length(token_hash) = 32')
export class AccessToken {
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'access_tokens_pk' })
  token_hash: Buffer;

  @Column('uuid')
  @ForeignKey(() => TokenFamily, { name: 'access_tokens_family_fk', onDelete: 'CASCADE' })
  family_id: string;

  @Column('text', { array: true })
  scopes: Scope[];

  @Column('timestamptz', { default: () => 'now()' })
  issued_at: Date;

  @Column('timestamptz')
  expires_at: Date;
}

@Entity('refresh_tokens')
@Index('refresh_tokens_family_ix', ['family_id'])
@Check('refresh_tokens_token_is_hashed', 'octet_length(token_hash) = 32')
export class RefreshToken {
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'refresh_tokens_pk' })
  token_hash: Buffer;

  @Column('uuid')
  @ForeignKey(() => TokenFamily, { name: 'refresh_tokens_family_fk', onDelete: 'CASCADE' })
  family_id: string;

  @Column('timestamptz', { default: () => 'now()' })
  issued_at: Date;

  /** Kept after use, so that a second use is known for what it is. */
  @Column('timestamptz', { nullable: true })
  used_at: Date | null;
}
