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

/** The caller of a protected route, as a handler's argument. */
export const CurrentCaller = createParamDecorator((_data: unknown, _context: ExecutionContext): Caller => {
  const { caller } = requestContext();
  if (!caller) throw new Error('A public route has no caller.');
  return caller;
});
