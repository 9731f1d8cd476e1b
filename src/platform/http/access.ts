import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { Caller, Scope } from '../context/caller.js';
import { requestContext } from '../context/request-context.js';

/** How a route may be reached: with a token of a scope, with client credentials (token service), or by anybody. */
export type AccessRule = Scope | 'client' | 'public';

export const ACCESS = 'access';

/** Declares who may call the route. A route that declares nothing does not start. */
export const Access = (rule: AccessRule) => SetMetadata(ACCESS, rule);

/** The caller of a protected route, as a handler's argument. */
export const CurrentCaller = createParamDecorator((_data: unknown, _context: ExecutionContext): Caller => {
  const { caller } = requestContext();
  if (!caller) throw new Error('A public route has no caller.');
  return caller;
});
