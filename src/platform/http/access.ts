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
 * Declares the callers of a route. A route without a declaration prevents the start.
 *
 * `@Access('admin', 'support')`: staff of some accounts may call it too, and the handler stays within the accounts of
 * `reachOf(caller)`. When the path or the query names the account, the guard has already checked it.
 */
export function Access(...rule: ['client'] | ['public'] | [Scope, ...Scope[]]) {
  const [first] = rule;
  return SetMetadata(ACCESS, first === 'client' || first === 'public' ? first : rule);
}

/**
 * The bound that keeps a route within the accounts of its caller.
 *
 * - `path`: the account in the path. The guard checks it.
 * - `row`: the account of the row that an id identifies. An id of another account is answered like an unknown id.
 * - `reach`: the accounts of the caller (`currentReach`). Every statement of the route is bounded by them.
 * - `operators`: no bound; only operators may call it.
 * - `public`: no bound; it shows data of an account only for a secret that the call carries.
 */
export type Bound = 'path' | 'row' | 'reach' | 'operators' | 'public';

export const BOUND = 'bound';

/**
 * Declares the bound of a route that access rule and path do not imply. A path with `{account_code}` is bounded by it,
 * a route of `admin` alone is for operators, and a route without a token is public. Any other route without a
 * declaration prevents the start.
 */
export function Bounded(by: 'row' | 'reach') {
  return SetMetadata(BOUND, by);
}

/** Returns the bound of a route; undefined when the route must declare one. */
export function boundOf(access: AccessRule | undefined, path: string, declared: Bound | undefined): Bound | undefined {
  if (access === 'public' || access === 'client') return 'public';
  if (path.includes(':account_code')) return 'path';
  if (access?.every((scope) => scope === 'admin')) return 'operators';
  return declared;
}

/** Injects the caller of a protected route as a handler's argument. */
export const CurrentCaller = createParamDecorator((_data: unknown, _context: ExecutionContext): Caller => {
  const { caller } = requestContext();
  if (!caller) throw new Error('A public route has no caller.');
  return caller;
});
