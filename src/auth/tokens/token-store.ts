import { Injectable } from '@nestjs/common';
import { v7 as uuid } from 'uuid';
import { AuthConfig } from '../auth.config.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import type { Scope } from '../../platform/context/caller.js';
import { Secrets, sha256 } from '../../platform/secrets.js';
import type { LoggedIn } from './login.js';
import { isRefusedPassword } from './operator-rights.js';

// Starts a token family if the user and the application are unchanged. Both rows are locked and checked for changes.
// When a password is changed, a scope is removed or a user is disabled, triggers end the existing families. After that,
// no new family may start with the old rights.
const START_FAMILY = prepared(
  'token-start-family',
  `WITH unchanged AS (
     SELECT username FROM users, applications
     WHERE username = $3 AND password_hash = $4 AND NOT users.disabled AND $5::text[] <@ users.scopes
       AND consumer_key = $2 AND NOT applications.disabled AND $5::text[] <@ applications.scopes
       AND NOT ${isRefusedPassword('$10::boolean', '$11::boolean')}
     FOR SHARE
   ), family AS (
     INSERT INTO token_families (family_id, consumer_key, username, scopes, expires_at, by_password)
     SELECT $1, $2, username, $5, now() + make_interval(secs => $6), $10 FROM unchanged
     RETURNING family_id
   ), access AS (
     INSERT INTO access_tokens (token_hash, family_id, scopes, expires_at)
     SELECT $7, family_id, $5, now() + make_interval(secs => $8) FROM family
   )
   INSERT INTO refresh_tokens (token_hash, family_id) SELECT $9, family_id FROM family`,
  acrossAccounts.rights,
);

// Starts a token family for the application itself, without a user, with one access token. The application's row is
// locked and checked for changes, so that no token is issued with a right that has just been removed.
const START_OWN_FAMILY = prepared(
  'token-start-own-family',
  `WITH unchanged AS (
     SELECT consumer_key FROM applications
     WHERE consumer_key = $2 AND NOT disabled AND $3::text[] <@ scopes AND 'client_credentials' = ANY (grants)
     FOR SHARE
   ), family AS (
     INSERT INTO token_families (family_id, consumer_key, username, scopes, expires_at, by_password)
     SELECT $1, consumer_key, NULL, $3, now() + make_interval(secs => $4), false FROM unchanged
     RETURNING family_id
   )
   INSERT INTO access_tokens (token_hash, family_id, scopes, expires_at)
   SELECT $5, family_id, $3, now() + make_interval(secs => $4) FROM family`,
  acrossAccounts.rights,
);

// Locks a refresh token. Of parallel requests with the same token, the first request uses the token. The other requests
// then see that the token was used.
const LOCK_REFRESH_TOKEN = prepared(
  'token-lock-refresh-token',
  `SELECT family.family_id, family.consumer_key, family.username, family.scopes,
          token.used_at IS NOT NULL AS used,
          family.revoked_at IS NULL AND family.expires_at > statement_timestamp() AND NOT users.disabled
            AND NOT ${isRefusedPassword('family.by_password', '$2::boolean')} AS usable,
          users.scopes AS user_scopes
   FROM refresh_tokens token JOIN token_families family USING (family_id) JOIN users USING (username)
   WHERE token.token_hash = $1
   FOR UPDATE OF token`,
);

const ROTATE = prepared(
  'token-rotate',
  `WITH used AS (
     UPDATE refresh_tokens SET used_at = now() WHERE token_hash = $1 RETURNING family_id
   ), access AS (
     INSERT INTO access_tokens (token_hash, family_id, scopes, expires_at)
     SELECT $2, family_id, $3, now() + make_interval(secs => $4) FROM used
   )
   INSERT INTO refresh_tokens (token_hash, family_id) SELECT $5, family_id FROM used`,
);

const END_FAMILY = prepared(
  'token-end-family',
  `UPDATE token_families SET revoked_at = now() WHERE family_id = $1 AND revoked_at IS NULL`,
);
const END_PASSWORD_FAMILIES = prepared(
  'token-end-password-families',
  `UPDATE token_families SET revoked_at = now() WHERE username = $1 AND by_password AND revoked_at IS NULL`,
);
const END_ACCESS_TOKEN = prepared('token-end-access-token', `DELETE FROM access_tokens WHERE token_hash = $1`);

const FIND_OWNER = prepared(
  'token-find-owner',
  `SELECT family.family_id, family.consumer_key, coalesce(family.username, family.consumer_key) AS username, token.kind
   FROM (SELECT family_id, 'access' AS kind FROM access_tokens WHERE token_hash = $1
         UNION ALL
         SELECT family_id, 'refresh' FROM refresh_tokens WHERE token_hash = $1) token
   JOIN token_families family USING (family_id)`,
);

const ACCESS_TOKEN_TIMES = prepared(
  'token-access-token-times',
  `SELECT floor(extract(epoch FROM issued_at))::float8 AS iat, floor(extract(epoch FROM expires_at))::float8 AS exp
   FROM access_tokens WHERE token_hash = $1`,
);
const FIND_USABLE_REFRESH_TOKEN = prepared(
  'token-find-usable-refresh-token',
  `SELECT family.username, family.scopes, users.scopes AS user_scopes,
          floor(extract(epoch FROM token.issued_at))::float8 AS iat,
          floor(extract(epoch FROM family.expires_at))::float8 AS exp
   FROM refresh_tokens token JOIN token_families family USING (family_id) JOIN users USING (username)
   WHERE token.token_hash = $1 AND token.used_at IS NULL
     AND family.consumer_key = $2 AND family.revoked_at IS NULL AND family.expires_at > now() AND NOT users.disabled
     AND NOT ${isRefusedPassword('family.by_password', '$3::boolean')}`,
);

export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** The sign-in with which a token family began. */
export interface Origin {
  /**
   * Whether the token family began with a password. If so, and if its user is an operator, OPERATOR_PASSWORDS=off ends
   * the family.
   */
  readonly byPassword: boolean;
}

/** The lifetime of an access token and the lifetime of a token family, in seconds. */
export interface Life {
  readonly accessS: number;
  readonly familyS: number;
}

export interface LockedRefreshToken {
  readonly family_id: string;
  readonly consumer_key: string;
  readonly username: string;
  readonly scopes: Scope[];
  readonly used: boolean;
  /**
   * Whether the refresh token can be used: it is neither revoked nor expired, its sign-in by password is still allowed,
   * and its user is not disabled.
   */
  readonly usable: boolean;
  readonly user_scopes: Scope[];
}

export interface TokenOwner {
  readonly family_id: string;
  readonly consumer_key: string;
  readonly username: string;
  readonly kind: 'access' | 'refresh';
}

/** The times of a token, in seconds since 1970 (RFC 7662 §2.2). */
export interface TokenTimes {
  readonly iat: number;
  readonly exp: number;
}

/** Reads and writes the token tables. Each token consists of 256 random bits, and only its SHA-256 hash is stored. */
@Injectable()
export class TokenStore {
  constructor(
    private readonly config: AuthConfig,
    private readonly secrets: Secrets,
    private readonly database: Database,
  ) {}

  /**
   * Starts a token family with its first tokens. Returns null if the user or the application was changed after the
   * password was checked.
   */
  async startFamily(
    consumerKey: string,
    user: LoggedIn,
    scopes: readonly Scope[],
    { byPassword }: Origin,
    life: Life = { accessS: this.config.accessTokenTtlS, familyS: this.config.refreshTokenTtlS },
  ): Promise<(TokenPair & { familyId: string }) | null> {
    const familyId = uuid();
    const pair = this.newPair();
    const started = await this.database.execute(START_FAMILY, [
      familyId,
      consumerKey,
      user.username,
      user.password_hash,
      scopes,
      life.familyS,
      sha256(pair.accessToken),
      life.accessS,
      sha256(pair.refreshToken),
      byPassword,
      !this.config.operatorPasswords,
    ]);
    return started === 0 ? null : { ...pair, familyId };
  }

  /**
   * Starts a token family for the application itself, without a user. The family has one access token and no refresh
   * token (RFC 6749 §4.4.3). Returns null if the application was changed after it authenticated itself.
   */
  async startOwnFamily(
    consumerKey: string,
    scopes: readonly Scope[],
  ): Promise<{ accessToken: string; familyId: string } | null> {
    const familyId = uuid();
    const accessToken = this.secrets.token();
    const values = [familyId, consumerKey, scopes, this.config.accessTokenTtlS, sha256(accessToken)];
    return (await this.database.execute(START_OWN_FAMILY, values)) === 0 ? null : { accessToken, familyId };
  }

  /** Locks the refresh token until the unit of work ends; returns null for an unknown token. */
  async lockRefreshToken(token: string): Promise<LockedRefreshToken | null> {
    return this.database.queryOne<LockedRefreshToken>(LOCK_REFRESH_TOKEN, [
      sha256(token),
      !this.config.operatorPasswords,
    ]);
  }

  /** Marks the refresh token as used, and stores a new pair of tokens. */
  async rotate(token: string, scopes: readonly Scope[]): Promise<TokenPair> {
    const pair = this.newPair();
    await this.database.execute(ROTATE, [
      sha256(token),
      sha256(pair.accessToken),
      scopes,
      this.config.accessTokenTtlS,
      sha256(pair.refreshToken),
    ]);
    return pair;
  }

  async endFamily(familyId: string): Promise<void> {
    await this.database.execute(END_FAMILY, [familyId]);
  }

  /** Ends the token families that the user obtained with a password, including console sessions. */
  async endPasswordFamilies(username: string): Promise<void> {
    await this.database.execute(END_PASSWORD_FAMILIES, [username]);
  }

  async endAccessToken(token: string): Promise<void> {
    await this.database.execute(END_ACCESS_TOKEN, [sha256(token)]);
  }

  async findOwner(token: string): Promise<TokenOwner | null> {
    return this.database.queryOne<TokenOwner>(FIND_OWNER, [sha256(token)]);
  }

  async findAccessTokenTimes(token: string): Promise<TokenTimes | null> {
    return this.database.queryOne<TokenTimes>(ACCESS_TOKEN_TIMES, [sha256(token)]);
  }

  async findUsableRefreshToken(
    token: string,
    consumerKey: string,
  ): Promise<(TokenTimes & { username: string; scopes: Scope[]; user_scopes: Scope[] }) | null> {
    return this.database.queryOne(FIND_USABLE_REFRESH_TOKEN, [
      sha256(token),
      consumerKey,
      !this.config.operatorPasswords,
    ]);
  }

  private newPair(): TokenPair {
    return { accessToken: this.secrets.token(), refreshToken: this.secrets.token() };
  }
}
