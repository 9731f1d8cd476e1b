import { Injectable } from '@nestjs/common';
import { AuthConfig } from '../auth.config.js';
import { acrossAccounts, Database, prepared, unestimated } from '../../platform/database/database.js';
import { Batched } from '../../platform/database/batched.js';
import type { Caller, Scope } from '../../platform/context/caller.js';
import { GENERATED_TOKEN, sha256 } from '../../platform/secrets.js';
import { isRefusedPassword } from './operator-rights.js';

// This statement alone decides which access tokens are valid. A token that the statement does not return is invalid.
const FIND_VALID = prepared(
  'access-token-find-valid',
  `SELECT asked.n::int, token.scopes, coalesce(family.username, family.consumer_key) AS username, family.consumer_key,
          CASE WHEN family.username IS NULL THEN application.account_codes
               ELSE ARRAY(SELECT account_code FROM user_accounts WHERE username = family.username) END AS account_codes,
          coalesce(users.subscription_ids, application.subscription_ids) AS subscription_ids
   FROM unnest(${unestimated('$1::bytea[]')}) WITH ORDINALITY AS asked (token_hash, n)
   JOIN access_tokens token USING (token_hash)
   JOIN token_families family USING (family_id)
   LEFT JOIN users ON users.username = family.username
   JOIN applications application USING (consumer_key)
   WHERE token.expires_at > statement_timestamp()
     AND family.revoked_at IS NULL
     AND NOT application.disabled AND token.scopes <@ application.scopes
     AND CASE WHEN family.username IS NULL THEN 'client_credentials' = ANY (application.grants)
              ELSE NOT users.disabled AND token.scopes <@ users.scopes
                AND NOT ${isRefusedPassword('family.by_password', '$2::boolean')} END`,
  acrossAccounts.rights,
);

interface ValidRow {
  n: number;
  scopes: Scope[];
  username: string;
  consumer_key: string;
  account_codes: string[];
  subscription_ids: string[];
}

/**
 * Looks up the caller of an access token, with one prepared statement and without a cache. After a token was revoked, a
 * user was disabled or an account was removed, the next request therefore fails in every process.
 *
 * The tokens of concurrent requests are batched, and each token is looked up once per batch. Under load, batching is as
 * fast as a cache.
 */
@Injectable()
export class AccessTokenLookup {
  private readonly valid: Batched<string, ValidRow>;

  constructor(database: Database, config: AuthConfig) {
    this.valid = new Batched(
      database,
      FIND_VALID,
      (tokens) => [tokens.map(sha256), !config.operatorPasswords],
      (token) => token,
    );
  }

  /**
   * Returns the caller of the token. Returns null if the token is unknown, expired or revoked, or if its user or
   * application lost a required right.
   */
  async find(token: string): Promise<Caller | null> {
    if (!GENERATED_TOKEN.test(token)) return null;
    const [row] = await this.valid.ask(token);
    return row ? callerOf(row) : null;
  }
}

function callerOf(row: ValidRow): Caller {
  return {
    username: row.username,
    consumerKey: row.consumer_key,
    scopes: new Set(row.scopes),
    accountCodes: new Set(row.account_codes),
    subscriptionIds: new Set(row.subscription_ids),
    isOperator: row.scopes.includes('admin'),
  };
}
