import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { Caller, Scope } from '../context/caller.js';
import { requestContext } from '../context/request-context.js';

/**
 * The access rule of a route: a token with one of these scopes, client credentials (token service), or public. A
 * refusal names the first scope.
 */
export type AccessRule = readonly [Scope, ...Scope[]] | 'client' | 'public';

export const ACCESS = 'access';

/**
 * Declares who may call a route. A route without a declaration prevents the start.
 *
 * `@Access('admin', 'support')` also admits staff of some accounts, whose requests must stay within the accounts of
 * `allowedAccountsOf(caller)`. If the path or the query names the account, the guard has already checked it.
 */
export function Access(...rule: ['client'] | ['public'] | [Scope, ...Scope[]]) {
  const [first] = rule;
  return SetMetadata(ACCESS, first === 'client' || first === 'public' ? first : rule);
}

/**
 * The limit that keeps a route within the accounts of its caller.
 *
 * - `path`: the account in the path, which the guard checks.
 * - `row`: the account of the row that an id identifies. An id of a different account is treated as unknown.
 * - `accounts`: the accounts of the caller (`currentAllowedAccounts`), which limit every statement of the route.
 * - `operators`: no limit; only operators may call the route.
 * - `public`: no limit; the route shows data of an account only for a secret in the request.
 */
export type Bound = 'path' | 'row' | 'accounts' | 'operators' | 'public';

export const BOUND = 'bound';

/**
 * Declares the limit of a route if access rule and path do not imply it. A path with `{account_code}` limits the route
 * to that account, a route for `admin` alone is for operators, and a route without a token is public. Any other route
 * without a declaration prevents the start.
 */
export function Bounded(by: 'row' | 'accounts') {
  return SetMetadata(BOUND, by);
}

/** Returns the limit of a route; undefined if the route must declare it. */
export function boundOf(access: AccessRule | undefined, path: string, declared: Bound | undefined): Bound | undefined {
  if (access === 'public' || access === 'client') return 'public';
  if (path.includes(':account_code')) return 'path';
  if (access?.every((scope) => scope === 'admin')) return 'operators';
  return declared;
}

/** Passes the caller of a protected route to its handler as an argument. */
export const CurrentCaller = createParamDecorator((_data: unknown, _context: ExecutionContext): Caller => {
  const { caller } = requestContext();
  if (!caller) throw new Error('A public route has no caller.');
  return caller;
});
