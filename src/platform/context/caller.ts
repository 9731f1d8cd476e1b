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
  'partner',
] as const;
export type Scope = (typeof SCOPES)[number];

const OTHER_SCOPES: readonly Scope[] = ['admin', 'support', 'partner'];
/**
 * The scopes that an OAuth client of an account may have. The list excludes `admin` and `support`, which are for the
 * staff of the service, and `partner`, which is for systems that receive notifications.
 */
export const CLIENT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => !OTHER_SCOPES.includes(scope));

/**
 * The authenticated caller of a request: the user of the access token, and the application for which the token was
 * issued. With the `client_credentials` grant, the application itself is the caller.
 */
export interface Caller {
  /** The user name; the consumer key if the application itself is the caller. No user has a consumer key as a name. */
  readonly username: string;
  readonly consumerKey: string;
  /**
   * The scopes of the access token. Only these scopes decide which routes the caller may use, whatever other rights the
   * user has.
   */
  readonly scopes: ReadonlySet<Scope>;
  /** The codes of the accounts to which the caller belongs. */
  readonly accountCodes: ReadonlySet<string>;
  /**
   * The subscriptions of the caller. On a route for the `partner` scope, a request may only concern these
   * subscriptions.
   */
  readonly subscriptionIds: ReadonlySet<string>;
  /** Whether the token has the `admin` scope, which gives access to every account. */
  readonly isOperator: boolean;
}

/**
 * The accounts that a request may concern; null means every account. The condition in SQL is `($1::text[] IS NULL OR
 * account_code = ANY ($1))`.
 */
export type AllowedAccounts = readonly string[] | null;

/**
 * The allowed accounts of work that concerns every account and that no caller requested: a sweep, a delivery, or a
 * figure that is computed once for all callers.
 */
export const ACROSS_ACCOUNTS: AllowedAccounts = null;

const NOBODY: AllowedAccounts = Object.freeze([]);

/** Returns the accounts that the caller may use; an empty list if there is no caller. */
export function allowedAccountsOf(caller: Caller | null): AllowedAccounts {
  if (caller === null) return NOBODY;
  return caller.isOperator ? ACROSS_ACCOUNTS : [...caller.accountCodes];
}

/**
 * The data to which a request on a route for the `partner` scope is limited: the caller's subscriptions and their
 * accounts.
 */
export interface PartnerAccess {
  readonly accountCodes: readonly string[];
  readonly subscriptionIds: readonly string[];
}
