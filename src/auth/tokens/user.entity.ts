import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../platform/context/caller.js';

@Entity('users')
export class User {
  @PrimaryColumn('text')
  username: string;

  @Column({ type: 'bigint', generated: 'identity', generatedIdentity: 'ALWAYS' })
  position: number;

  /** The argon2id hash in PHC form, with its parameters and salt. */
  @Column('text')
  password_hash: string;

  @Column('text', { array: true })
  scopes: Scope[];

  @Column('boolean', { default: false })
  disabled: boolean;

  @Column('timestamptz', { default: () => 'now()' })
  created_datetime: Date;
}

/** An account to which the user belongs. */
@Entity('user_accounts')
export class UserAccount {
  @PrimaryColumn('text')
  username: string;

  // References the table by name, because the module accounts is not imported.
  @PrimaryColumn('text')
  account_code: string;
}
