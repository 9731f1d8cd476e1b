import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import type { Scope } from '../platform/context/caller.js';

@Entity('users')
@Unique('users_position_key', ['position'])
@Check('users_password_is_hashed', `password_hash LIKE '$argon2id$%'`)
@Check(
  'users_scopes_known',
  `scopes <@ ARRAY['read', 'create', 'update', 'delete', 'launch', 'results', 'bookings', 'admin']`,
)
export class User {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'users_pk' })
  username: string;

  @Column({ type: 'bigint', generated: 'identity', generatedIdentity: 'ALWAYS' })
  position: number;

  /** argon2id in PHC form, with its parameters and salt. */
  @Column('text')
  password_hash: string;

  @Column('text', { array: true })
  scopes: Scope[];

  @Column('boolean', { default: false })
  disabled: boolean;

  @Column('timestamptz', { default: () => 'now()' })
  created_datetime: Date;
}

/** An account that the user belongs to. */
@Entity('user_accounts')
@Index('user_accounts_account_ix', ['account_code'])
export class UserAccount {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'user_accounts_pk' })
  @ForeignKey(() => User, { name: 'user_accounts_user_fk' })
  username: string;

  // By the table's name: the module that owns accounts is not imported.
  @PrimaryColumn('text', { primaryKeyConstraintName: 'user_accounts_pk' })
  @ForeignKey('accounts', { name: 'user_accounts_account_fk' })
  account_code: string;
}
