import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../platform/context/caller.js';

@Entity('users')
export class User {
  @PrimaryColumn('text')
  username: string;

  @Column({ type: 'bigint', generated: 'identity', generatedIdentity: 'ALWAYS' })
  position: number;

  /** The argon2id hash of the password in PHC format, with its parameters and salt. */
  @Column('text')
  password_hash: string;

  @Column('text', { array: true })
  scopes: Scope[];

  /** The subscriptions that the user may use with the `partner` scope. */
  @Column('uuid', { array: true, default: '{}' })
  subscription_ids: string[];

  @Column('boolean', { default: false })
  disabled: boolean;

  @Column('timestamptz', { default: () => 'now()' })
  created_datetime: Date;
}

/** Assigns a user to an account. */
@Entity('user_accounts')
export class UserAccount {
  @PrimaryColumn('text')
  username: string;

  // The foreign key references the accounts table directly, because this module does not import the accounts module.
  @PrimaryColumn('text')
  account_code: string;
}
