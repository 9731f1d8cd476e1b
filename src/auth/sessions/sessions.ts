import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { formatDateTime } from '../../platform/clock.js';
import { SCOPES, type Caller, type Scope } from '../../platform/context/caller.js';
import { requestContext } from '../../platform/context/request-context.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { randomToken, sha256 } from '../../platform/secrets.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { AccessTokenLookup } from '../tokens/access-token-lookup.js';
import type { LoggedIn } from '../tokens/login.js';
import { grantedScopes, mayUseConsole } from '../tokens/scope.rules.js';
import { ConsoleCookies, isFromConsole } from './session-cookie.js';
import { TokenStore, type Origin } from '../tokens/token-store.js';

/**
 * The consumer key of the console's own application. The first sign-in creates the application, without grants and with
 * a secret that nobody knows.
 */
export const CONSOLE_KEY = 'CONSOLEOFTHISSERVICE';
/**
 * The scopes that a console session can have. These are all scopes except `launch`. With the `results` scope, users see
 * the photos and video links of results.
 */
const CONSOLE_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== 'launch');

const COOKIE = 'console-session';
const IDLE_S = 30 * 60;
const ABSOLUTE_S = 12 * 3600;
/** The minimum interval, in seconds, between two extensions of a session in the database. */
const RENEW_EVERY_S = 60;

const MAKE_APPLICATION = prepared(
  'session-make-application',
  `INSERT INTO applications (consumer_key, name, secret_hash, scopes, grants) VALUES ($1, 'Console', $2, $3, '{}')
   ON CONFLICT (consumer_key) DO NOTHING`,
);
const FIND_SCOPES = prepared(
  'session-find-scopes',
  `SELECT scopes FROM applications WHERE consumer_key = $1`,
  acrossAccounts.rights,
);
const PROLONG = prepared(
  'session-prolong',
  `UPDATE access_tokens token SET expires_at = least(now() + make_interval(secs => ${IDLE_S}), family.expires_at)
   FROM token_families family
   WHERE token.token_hash = $1 AND family.family_id = token.family_id AND token.expires_at > now()
     AND token.expires_at < least(now() + make_interval(secs => ${IDLE_S - RENEW_EVERY_S}), family.expires_at)`,
);
const FIND = prepared(
  'session-find',
  `SELECT family_id, family.expires_at FROM access_tokens token JOIN token_families family USING (family_id)
   WHERE token_hash = $1`,
);
const END_OTHERS = prepared(
  'session-end-all',
  `UPDATE token_families SET revoked_at = now() WHERE username = $1 AND consumer_key = $2 AND revoked_at IS NULL`,
);

export interface SessionView {
  username: string;
  scopes: Scope[];
  account_codes: string[];
  expires_datetime: string;
}

/**
 * Manages sessions of operators and partners in the console.
 *
 * 1. A session is a token family of the console's own application. Its only access token is in the cookie, and the
 *    token's hash is in the database. A session therefore survives restarts and works in every process. It ends
 *    whenever tokens end, which is when the password is changed, the user is disabled or a scope is removed.
 * 2. A call with the cookie is accepted only with the `Console-Request` header, which the console's own pages add. The
 *    token is valid only in the cookie.
 * 3. Every call extends the session until {@link IDLE_S} from now, but never beyond the expiry of the token family.
 * 4. A sign-in creates a new token, and ends the browser's previous session.
 */
@Injectable()
export class Sessions {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly lookup: AccessTokenLookup,
    private readonly tokens: TokenStore,
    private readonly cookies: ConsoleCookies,
  ) {}

  /**
   * Returns the caller of a request that has a session's cookie, and extends the session. Returns null if there is no
   * session, or if the request is not from the console's pages.
   */
  async callerOf(request: Request): Promise<Caller | null> {
    const found = await this.find(request);
    if (found) await this.database.execute(PROLONG, [sha256(found.token)]);
    return found?.caller ?? null;
  }

  /** Returns the caller of a request like {@link callerOf}, but does not extend the session. */
  async peek(request: Request): Promise<Caller | null> {
    return (await this.find(request))?.caller ?? null;
  }

  /** Returns the session of the request, without extending it. */
  async view(request: Request): Promise<SessionView | null> {
    const found = await this.find(request);
    if (!found) return null;
    return present(found.caller, (await this.familyOf(found.token))!.expires_at);
  }

  /**
   * Starts a session for the user. Returns false if the user may not use the console, or if the user has just been
   * changed.
   */
  start(request: Request, response: Response, user: LoggedIn, origin: Origin): Promise<boolean> {
    return this.unitOfWork.run(async () => {
      const before = this.cookies.read(request, COOKIE);
      const family = before === null ? null : await this.familyOf(before);
      if (family) await this.tokens.endFamily(family.family_id);
      await this.database.execute(MAKE_APPLICATION, [CONSOLE_KEY, sha256(randomToken()), CONSOLE_SCOPES]);
      // The scopes of the console's own application are read from the database, because an operator may have removed
      // some of them.
      const console = await this.database.queryOne<{ scopes: Scope[] }>(FIND_SCOPES, [CONSOLE_KEY]);
      const scopes = grantedScopes(undefined, console!.scopes, user.scopes);
      if (!scopes || !mayUseConsole(scopes)) return false;
      const started = await this.tokens.startFamily(CONSOLE_KEY, user, scopes, origin, {
        accessS: IDLE_S,
        familyS: ABSOLUTE_S,
      });
      if (!started) return false;
      actAs(user.username);
      this.unitOfWork.audit('session.start', started.familyId);
      this.unitOfWork.afterCommit(() => this.cookies.set(response, COOKIE, started.accessToken, 'strict'));
      return true;
    });
  }

  /**
   * Ends the session of the request or, with `all`, every session of its user. Returns the user name; null if there was
   * no session.
   */
  async end(request: Request, response: Response, all: boolean): Promise<string | null> {
    const found = await this.find(request);
    if (found) {
      const family = (await this.familyOf(found.token))!;
      actAs(found.caller.username);
      await this.unitOfWork.run(async () => {
        if (all) await this.database.execute(END_OTHERS, [found.caller.username, CONSOLE_KEY]);
        else await this.tokens.endFamily(family.family_id);
        this.unitOfWork.audit(all ? 'session.end_all' : 'session.end', family.family_id);
      });
    }
    if (isFromConsole(request)) this.cookies.clear(response, COOKIE);
    return found?.caller.username ?? null;
  }

  private async find(request: Request): Promise<{ token: string; caller: Caller } | null> {
    const token = isFromConsole(request) ? this.cookies.read(request, COOKIE) : null;
    const caller = token === null ? null : await this.lookup.find(token);
    return caller?.consumerKey === CONSOLE_KEY ? { token: token!, caller } : null;
  }

  private familyOf(token: string): Promise<{ family_id: string; expires_at: Date } | null> {
    return this.database.queryOne(FIND, [sha256(token)]);
  }
}

function present({ username, scopes, accountCodes }: Caller, end: Date): SessionView {
  return {
    username,
    scopes: [...scopes].sort(),
    account_codes: [...accountCodes].sort(),
    expires_datetime: formatDateTime(end),
  };
}

/** Records the user as the caller of the request, for the audit entries and the log. */
function actAs(username: string): void {
  requestContext().caller = {
    username,
    consumerKey: CONSOLE_KEY,
    scopes: new Set(),
    accountCodes: new Set(),
    subscriptionIds: new Set(),
    isOperator: false,
  };
}
