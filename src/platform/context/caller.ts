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

/** The scopes for clients of accounts. `admin` and `support` are for the staff of the service. */
export const CLIENT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== 'admin' && scope !== 'support');

/**
 * The authenticated caller of a request: the user of the access token, and the application for which the token was
 * issued.
 */
export interface Caller {
  readonly username: string;
  readonly consumerKey: string;
  /**
   * The scopes of the access token. They alone decide which routes the caller may use, whatever other rights the user
   * has.
   */
  readonly scopes: ReadonlySet<Scope>;
  /** The codes of the accounts to which the user belongs. */
  readonly accountCodes: ReadonlySet<string>;
  /** Whether the token has the scope `admin`, which gives access to every account. */
  readonly isOperator: boolean;
}

/**
 * The accounts that a request may concern; null means every account. In SQL: `($1::text[] IS NULL OR account_code = ANY
 * ($1))`.
 */
export type AllowedAccounts = readonly string[] | null;

/**
 * The value for work that no caller requested and that concerns every account: a sweep, a delivery, or a figure that is
 * computed once for all callers.
 */
export const ACROSS_ACCOUNTS: AllowedAccounts = null;

const NOBODY: AllowedAccounts = Object.freeze([]);

/** Returns the accounts that the caller may use; an empty list if there is no caller. */
export function allowedAccountsOf(caller: Caller | null): AllowedAccounts {
  if (caller === null) return NOBODY;
  return caller.isOperator ? ACROSS_ACCOUNTS : [...caller.accountCodes];
}
