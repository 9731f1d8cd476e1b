import { Injectable } from '@nestjs/common';
import { AuthConfig } from '../auth.config.js';
import type { Scope } from '../../platform/context/caller.js';
import { acrossAccounts, Database, prepared, violatedConstraint } from '../../platform/database/database.js';
import { defineProblem } from '../../platform/errors.js';
import type { LoggedIn } from '../tokens/login.js';
import { isOperator } from '../tokens/scope.rules.js';
import { TokenStore } from '../tokens/token-store.js';

export const lastOperator = defineProblem(
  'last_operator',
  'conflict',
  'The service would be left without an operator',
  'This user is the last enabled user with the scope `admin` who can sign in. Give the scope `admin` to another user first.',
);

// Changes a user. If two changes are concurrent, the second change sees the result of the first.
const CHANGE = prepared(
  'user-change',
  `UPDATE users SET password_hash = coalesce($2, password_hash), scopes = coalesce($3, scopes),
                    disabled = coalesce($4, disabled), subscription_ids = coalesce($5, subscription_ids)
   FROM (SELECT username AS name, scopes AS old_scopes FROM users WHERE username = $1 FOR NO KEY UPDATE) AS before
   WHERE username = before.name
   RETURNING username, password_hash, scopes, disabled, NOT (scopes <@ old_scopes AND old_scopes <@ scopes) AS has_other_scopes`,
);
const LEAVE_ACCOUNTS = prepared(
  'user-leave-accounts',
  `DELETE FROM user_accounts WHERE username = $1 AND account_code <> ALL ($2::text[])`,
  acrossAccounts.rights,
);
const JOIN_ACCOUNTS = prepared(
  'user-join-accounts',
  `INSERT INTO user_accounts (username, account_code) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`,
);
// Passes the settings for operators' sign-in to the trigger that ensures that at least one operator can still sign in.
const SAY_HOW_OPERATORS_SIGN_IN = prepared(
  'user-say-how-operators-sign-in',
  `SELECT set_config('sign_in.passwords', $1, true), set_config('sign_in.issuer', $2, true)`,
);

/** The changes to a user. A member that is null or omitted keeps its value. */
interface Changes {
  readonly passwordHash?: string | null;
  readonly scopes?: readonly Scope[] | null;
  readonly accountCodes?: readonly string[] | null;
  readonly subscriptionIds?: readonly string[] | null;
  readonly disabled?: boolean | null;
}

export interface ChangedUser extends LoggedIn {
  readonly disabled: boolean;
  /** The members of the user that the change has extended or reduced: `scopes`, `account_codes` or both. */
  readonly changedRights: readonly ('scopes' | 'account_codes')[];
}

/**
 * Changes users on behalf of the web console, the command line and the groups of the identity provider.
 *
 * 1. Triggers end the affected token families when a scope, account or subscription is removed, the password is
 *    changed, or the user is disabled.
 * 2. A trigger refuses a change after which nobody could sign in as an operator.
 * 3. With OPERATOR_PASSWORDS=off, a change to an operator also ends the token families that the operator obtained with
 *    a password.
 */
@Injectable()
export class UserRights {
  constructor(
    private readonly config: AuthConfig,
    private readonly database: Database,
    private readonly tokens: TokenStore,
  ) {}

  /**
   * Changes a user inside a unit of work. Returns null if the user does not exist.
   * @throws DomainError last_operator
   */
  async change(username: string, changes: Changes): Promise<ChangedUser | null> {
    const {
      passwordHash = null,
      scopes = null,
      accountCodes = null,
      subscriptionIds = null,
      disabled = null,
    } = changes;
    await this.sayHowOperatorsSignIn();
    const user = await this.database
      .queryOne<LoggedIn & { disabled: boolean; has_other_scopes: boolean }>(CHANGE, [
        username,
        passwordHash,
        scopes && [...new Set(scopes)],
        disabled,
        subscriptionIds && [...new Set(subscriptionIds)],
      ])
      .catch((error: unknown) => {
        throw violatedConstraint(error) === 'users_last_operator' ? lastOperator.error({ cause: error }) : error;
      });
    if (!user) return null;
    const changedRights: ChangedUser['changedRights'][number][] = user.has_other_scopes ? ['scopes'] : [];
    if (accountCodes && (await this.setAccounts(username, accountCodes))) changedRights.push('account_codes');
    if (isOperator(user.scopes) && !this.config.operatorPasswords) await this.tokens.endPasswordFamilies(username);
    return { ...user, changedRights };
  }

  private async setAccounts(username: string, accountCodes: readonly string[]): Promise<boolean> {
    const left = await this.database.execute(LEAVE_ACCOUNTS, [username, accountCodes]);
    const joined = await this.database.execute(JOIN_ACCOUNTS, [username, accountCodes]);
    return left + joined > 0;
  }

  private async sayHowOperatorsSignIn(): Promise<void> {
    const { operatorPasswords, oidc } = this.config;
    // If no admin group is configured, users of the identity provider do not count as operators who can still sign in.
    const issuer = oidc?.adminGroup == null ? 'none' : oidc.issuer.href;
    await this.database.query(SAY_HOW_OPERATORS_SIGN_IN, [operatorPasswords ? 'on' : 'off', issuer]);
  }
}
