export const SCOPES = [
  'read',
  'create',
  'update',
  'delete',
  'launch',
  'results',
  'bookings',
  'admin',
  'support',
] as const;
export type Scope = (typeof SCOPES)[number];

/** The scopes of an account's clients: `admin` and `support` are for the service's own staff. */
export const CLIENT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== 'admin' && scope !== 'support');

/** The caller: the user that the access token was issued to, and its application. */
export interface Caller {
  readonly username: string;
  readonly consumerKey: string;
  /** The scopes of the token: what the caller may do follows from them alone, whatever else its user may have. */
  readonly scopes: ReadonlySet<Scope>;
  /** The accounts that the user is named in. */
  readonly accountCodes: ReadonlySet<string>;
  /** Whether the token has the scope `admin`, which opens every account. */
  readonly isOperator: boolean;
}

/** The accounts that a call may concern; null: every one. In SQL: `($1::text[] IS NULL OR account_code = ANY ($1))`. */
export type Reach = readonly string[] | null;

/** Names the reach of work that is done for every account: a sweep, a delivery, what is computed once for all callers. */
export const ACROSS_ACCOUNTS: Reach = null;

const NOBODY: Reach = Object.freeze([]);

/** Returns the accounts of a caller; without a caller none. */
export function reachOf(caller: Caller | null): Reach {
  if (caller === null) return NOBODY;
  return caller.isOperator ? ACROSS_ACCOUNTS : [...caller.accountCodes];
}
