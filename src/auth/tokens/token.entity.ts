import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../platform/context/caller.js';

/**
 * A token family, which consists of all tokens that descend from one grant. The tokens of a family are ended together.
 */
@Entity('token_families')
export class TokenFamily {
  @PrimaryColumn('uuid')
  family_id: string;

  @Column('text')
  consumer_key: string;

  /** The user of the tokens; null if the application itself is the caller. */
  @Column('text', { nullable: true })
  username: string | null;

  /**
   * The scopes that the token family had at its start. A refresh can reduce the scopes of new tokens, but never extend
   * them.
   */
  @Column('text', { array: true })
  scopes: Scope[];

  @Column('timestamptz', { default: () => 'now()' })
  granted_at: Date;

  /** The time after which the tokens of the family can no longer be refreshed. */
  @Column('timestamptz')
  expires_at: Date;

  @Column('timestamptz', { nullable: true })
  revoked_at: Date | null;

  /**
   * Whether the token family began with a password. If so, and if its user is an operator, OPERATOR_PASSWORDS=off ends
   * the family.
   */
  @Column('boolean', { default: true })
  by_password: boolean;
}

@Entity('access_tokens')
export class AccessToken {
  @PrimaryColumn('bytea')
  token_hash: Buffer;

  @Column('uuid')
  family_id: string;

  @Column('text', { array: true })
  scopes: Scope[];

  @Column('timestamptz', { default: () => 'now()' })
  issued_at: Date;

  @Column('timestamptz')
  expires_at: Date;
}

@Entity('refresh_tokens')
export class RefreshToken {
  @PrimaryColumn('bytea')
  token_hash: Buffer;

  @Column('uuid')
  family_id: string;

  @Column('timestamptz', { default: () => 'now()' })
  issued_at: Date;

  /** The time at which the refresh token was used. A used token is kept, so that a second use is recognized. */
  @Column('timestamptz', { nullable: true })
  used_at: Date | null;
}
