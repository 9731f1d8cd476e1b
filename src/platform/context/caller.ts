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

/** The scopes of an account's clients. `admin` and `support` are for the service's own staff. */
export const CLIENT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== 'admin' && scope !== 'support');

/** The caller: the user that the access token was issued to, and its application. */
export interface Caller {
  readonly username: string;
  readonly consumerKey: string;
  /** The scopes of the token. They alone decide which calls are allowed, regardless of the user's other rights. */
  readonly scopes: ReadonlySet<Scope>;
  /** The accounts that list the user. */
  readonly accountCodes: ReadonlySet<string>;
  /** Whether the token has the scope `admin`, which opens every account. */
  readonly isOperator: boolean;
}

/**
 * The accounts that a call may concern; null means every account. In SQL: `($1::text[] IS NULL OR account_code = ANY
 * ($1))`.
 */
export type Reach = readonly string[] | null;

/** The bound of work for every account: a sweep, a delivery, or a figure computed once for all callers. */
export const ACROSS_ACCOUNTS: Reach = null;

const NOBODY: Reach = Object.freeze([]);

/** Returns the accounts of a caller; an empty list without a caller. */
export function reachOf(caller: Caller | null): Reach {
  if (caller === null) return NOBODY;
  return caller.isOperator ? ACROSS_ACCOUNTS : [...caller.accountCodes];
}
