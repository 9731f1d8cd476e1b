import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { Caller, Scope } from '../context/caller.js';
import { requestContext } from '../context/request-context.js';

/**
 * The access rule of a route. A list of scopes means that a caller needs a token with one of these scopes. The error
 * response for a missing scope names the first scope in the list. `client` means that a caller needs client credentials
 * (token service). `public` means that anyone may call the route.
 */
export type AccessRule = readonly [Scope, ...Scope[]] | 'client' | 'public';

export const ACCESS = 'access';

/**
 * Declares who may call a route. The service does not start if a route lacks this declaration.
 *
 * `@Access('admin', 'support')` also admits members of staff who may only use some accounts. The route must limit their
 * requests to the accounts that `allowedAccountsOf(caller)` returns. If the path or the query names an account, the
 * guard has already checked it.
 *
 * `@Access('partner')` admits partners. The route must limit their requests to the subscriptions that
 * `currentAllowedSubscriptions()` returns; a subscription of another partner is treated as unknown. A route for
 * `partner` must not name any other scope, because only a route for `partner` alone is limited to subscriptions
 * ({@link boundOf}).
 */
export function Access(...rule: ['client'] | ['public'] | [Scope, ...Scope[]]) {
  const [first] = rule;
  return SetMetadata(ACCESS, first === 'client' || first === 'public' ? first : rule);
}

/**
 * The limit that keeps a route within the accounts of its caller.
 *
 * - `path`: the account in the path, which the guard checks.
 * - `row`: the account of the row that an id identifies. If the caller may not use that account, the id is treated as
 *   unknown.
 * - `accounts`: the accounts of the caller (`currentAllowedAccounts`), which limit every statement of the route.
 * - `subscriptions`: the subscriptions of the caller (`currentAllowedSubscriptions`) and their accounts.
 * - `operators`: no limit; only operators may call the route.
 * - `public`: no limit; the route shows data of an account only if the request contains a secret.
 */
export type Bound = 'path' | 'row' | 'accounts' | 'subscriptions' | 'operators' | 'public';

export const BOUND = 'bound';

/**
 * Declares how a route is limited to its caller's accounts. Some routes need no declaration:
 *
 * - A route with `{account_code}` in its path is limited to that account.
 * - A route for `admin` alone is for operators.
 * - A route for `partner` is limited to the caller's subscriptions.
 * - A route that requires no token is public.
 *
 * The service does not start if any other route lacks this declaration.
 */
export function Bounded(by: 'row' | 'accounts') {
  return SetMetadata(BOUND, by);
}

/**
 * Returns the limit that keeps a route within its caller's accounts; undefined if the route must declare a limit but
 * has not declared one.
 */
export function boundOf(access: AccessRule | undefined, path: string, declared: Bound | undefined): Bound | undefined {
  if (access === 'public' || access === 'client') return 'public';
  if (path.includes(':account_code')) return 'path';
  if (access?.every((scope) => scope === 'admin')) return 'operators';
  if (access?.every((scope) => scope === 'partner')) return 'subscriptions';
  return declared;
}

/** Passes the authenticated caller of a request to the route's handler as an argument. */
export const CurrentCaller = createParamDecorator((_data: unknown, _context: ExecutionContext): Caller => {
  const { caller } = requestContext();
  if (!caller) throw new Error('A public route has no caller.');
  return caller;
});
