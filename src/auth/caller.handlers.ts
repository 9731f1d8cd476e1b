import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { Caller, Scope } from '../platform/context/caller.js';
import { acrossAccounts, Database, prepared } from '../platform/database/database.js';
import { FindCaller } from '../platform/current-caller.js';
import { FindCurrentScopes } from '../platform/current-scopes.js';
import { AccessTokenLookup } from './tokens/access-token-lookup.js';
import { Sessions } from './sessions/sessions.js';

@QueryHandler(FindCaller)
export class FindCallerHandler implements IQueryHandler<FindCaller> {
  constructor(
    private readonly lookup: AccessTokenLookup,
    private readonly sessions: Sessions,
  ) {}

  async execute({ request }: FindCaller): Promise<Caller | null> {
    const { authorization } = request.headers;
    if (authorization === undefined) return this.sessions.peek(request);
    // The access guard has admitted the caller's Authorization header. The header therefore has the form that the
    // bearer strategy accepts.
    const [, token] = authorization.split(' ');
    return token === undefined ? null : this.lookup.find(token);
  }
}

const CURRENT_SCOPES = prepared(
  'caller-current-scopes',
  `SELECT ARRAY(SELECT unnest(users.scopes) INTERSECT SELECT unnest(application.scopes)) AS scopes,
     EXISTS (SELECT FROM user_accounts WHERE username = $1 AND account_code = $3) AS is_named
   FROM users CROSS JOIN applications application
   WHERE users.username = $1 AND application.consumer_key = $2 AND NOT users.disabled AND NOT application.disabled
   UNION ALL
   SELECT scopes, $3 = ANY (account_codes) FROM applications
   WHERE consumer_key = $1 AND consumer_key = $2 AND 'client_credentials' = ANY (grants) AND NOT disabled`,
  acrossAccounts.rights,
);

@QueryHandler(FindCurrentScopes)
export class FindCurrentScopesHandler implements IQueryHandler<FindCurrentScopes> {
  constructor(private readonly database: Database) {}

  async execute({ username, consumerKey, accountCode }: FindCurrentScopes): Promise<ReadonlySet<Scope> | null> {
    const found = await this.database.queryOne<{ scopes: Scope[]; is_named: boolean }>(CURRENT_SCOPES, [
      username,
      consumerKey,
      accountCode,
    ]);
    return found && (found.is_named || found.scopes.includes('admin')) ? new Set(found.scopes) : null;
  }
}
