import { Injectable } from '@nestjs/common';
import { Database, prepared } from '../platform/database/database.js';
import type { Caller, Scope } from '../platform/http/access.js';
import { sha256 } from '../platform/secrets.js';

/** 256 bits in base64url. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const MOST_IN_FLIGHT = 2;
const MOST_IN_BATCH = 200;

// The whole rule of validity: what this statement does not return, nobody may use.
const FIND_VALID = prepared(
  'access-token-find-valid',
  `SELECT token.token_hash, token.scopes, family.username, family.consumer_key,
          'admin' = ANY (users.scopes) AS is_operator,
          ARRAY(SELECT account_code FROM user_accounts WHERE username = family.username) AS account_codes
   FROM access_tokens token
   JOIN token_families family USING (family_id)
   JOIN users USING (username)
   JOIN applications application USING (consumer_key)
   WHERE token.token_hash = ANY ($1::bytea[])
     AND token.expires_at > clock_timestamp()
     AND family.revoked_at IS NULL
     AND NOT users.disabled AND token.scopes <@ users.scopes
     AND NOT application.disabled AND token.scopes <@ application.scopes`,
);

interface ValidRow {
  token_hash: Buffer;
  scopes: Scope[];
  username: string;
  consumer_key: string;
  is_operator: boolean;
  account_codes: string[];
}

interface Waiting {
  readonly hash: Buffer;
  readonly resolve: (caller: Caller | null) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Who an access token stands for, by one prepared statement and without any cache: a revocation, a disabled user or a
 * lost account is seen by the very next request, in every process.
 *
 * 1. A look-up is sent at once while fewer than two are in flight.
 * 2. Calls that arrive meanwhile wait, and the next statement asks for all of them together (`= ANY`).
 * 3. So a statement always starts after the request that it answers has arrived.
 *
 * The gain: an idle service answers after one round trip, as without gathering. Under load the round trip, the protocol
 * messages and the pool's connection are shared by all requests of a batch, so each pays a fraction of them, and
 * checking tokens never takes more than two connections away from the work itself. Measured with 64 connections on a
 * route that does nothing else: as many requests a second as with a cache, and 2.5 times those of a statement for each.
 *
 * Never let a call join a statement that is already on its way: it would be answered with the state before it arrived.
 */
@Injectable()
export class AccessTokenLookup {
  private waiting: Waiting[] = [];
  private inFlight = 0;

  constructor(private readonly database: Database) {}

  /** The caller, or null for a token that is unknown, expired, revoked, or whose user or application lost what it needs. */
  find(token: string): Promise<Caller | null> {
    if (!TOKEN.test(token)) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      this.waiting.push({ hash: sha256(token), resolve, reject });
      if (this.inFlight < MOST_IN_FLIGHT) void this.sendNext();
    });
  }

  private async sendNext(): Promise<void> {
    this.inFlight++;
    const batch = this.waiting.splice(0, MOST_IN_BATCH);
    try {
      // On the pool itself: the statement serves many requests and belongs to nobody's transaction.
      const { rows } = await this.database.pool.query<ValidRow>({
        ...FIND_VALID,
        values: [batch.map((waiting) => waiting.hash)],
      });
      const callers = new Map(rows.map((row) => [row.token_hash.toString('hex'), callerOf(row)]));
      for (const { hash, resolve } of batch) resolve(callers.get(hash.toString('hex')) ?? null);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.inFlight--;
      if (this.waiting.length > 0) void this.sendNext();
    }
  }
}

function callerOf(row: ValidRow): Caller {
  return {
    username: row.username,
    consumerKey: row.consumer_key,
    scopes: new Set(row.scopes),
    accountCodes: new Set(row.account_codes),
    isOperator: row.is_operator,
  };
}
