import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../platform/context/caller.js';

/** All tokens that descend from one password grant; they end together. */
@Entity('token_families')
export class TokenFamily {
  @PrimaryColumn('uuid')
  family_id: string;

  @Column('text')
  consumer_key: string;

  @Column('text')
  username: string;

  /** The scopes of the first grant: a refresh may ask for fewer, never for more. */
  @Column('text', { array: true })
  scopes: Scope[];

  @Column('timestamptz', { default: () => 'now()' })
  granted_at: Date;

  /** The end of refreshing, whatever happens in between. */
  @Column('timestamptz')
  expires_at: Date;

  @Column('timestamptz', { nullable: true })
  revoked_at: Date | null;

  /** Got by a password, of which OPERATOR_PASSWORDS=off ends those of operators. */
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

  /** Kept after use, so that a second use is known for what it is. */
  @Column('timestamptz', { nullable: true })
  used_at: Date | null;
}
