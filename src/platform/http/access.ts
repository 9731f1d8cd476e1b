import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { Caller, Scope } from '../context/caller.js';
import { requestContext } from '../context/request-context.js';

/**
 * How a route may be reached: with a token of one of these scopes, with client credentials (token service), or by anybody.
 * The first scope is the one that a refusal asks for.
 */
export type AccessRule = readonly [Scope, ...Scope[]] | 'client' | 'public';

export const ACCESS = 'access';

/**
 * Declares who may call the route. A route that declares nothing does not start.
 *
 * `@Access('admin', 'support')`: staff of some accounts may call it too, and the handler keeps to the accounts that
 * `reachOf(caller)` names. Where the path or the query names the account the guard has seen to it.
 */
export function Access(...rule: ['client'] | ['public'] | [Scope, ...Scope[]]) {
  const [first] = rule;
  return SetMetadata(ACCESS, first === 'client' || first === 'public' ? first : rule);
}

/**
 * The bound that keeps a route within the accounts of its caller.
 *
 * - `path`: the account that the path names. The guard checks it.
 * - `row`: the account of the row that an id leads to. An id of another account is answered as an unknown one.
 * - `reach`: the accounts of the caller (`currentReach`). Every statement of the route is bounded by them.
 * - `operators`: nothing; only operators may call it.
 * - `public`: nothing; it shows no account anything but for a secret that the call carries.
 */
export type Bound = 'path' | 'row' | 'reach' | 'operators' | 'public';

export const BOUND = 'bound';

/**
 * Declares what bounds a route, where access and path do not say it already: a path with `{account_code}` is bounded by it, a route
 * of `admin` alone is for operators, one without a token is public. Any other route that declares nothing does not start.
 */
export function Bounded(by: 'row' | 'reach') {
  return SetMetadata(BOUND, by);
}

/** The bound of a route; undefined when it has to declare one. */
export function boundOf(access: AccessRule | undefined, path: string, declared: Bound | undefined): Bound | undefined {
  if (access === 'public' || access === 'client') return 'public';
  if (path.includes(':account_code')) return 'path';
  if (access?.every((scope) => scope === 'admin')) return 'operators';
  return declared;
}

/** The caller of a protected route, as a handler's argument. */
export const CurrentCaller = createParamDecorator((_data: unknown, _context: ExecutionContext): Caller => {
  const { caller } = requestContext();
  if (!caller) throw new Error('A public route has no caller.');
  return caller;
});
