import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import { requestContext } from './request-context.js';

export const SCOPES = ['read', 'create', 'update', 'delete', 'launch', 'results', 'bookings', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** How a route may be reached: with a token of a scope, with client credentials (token service), or by anybody. */
export type AccessRule = Scope | 'client' | 'public';

export const ACCESS = 'access';

/** Declares who may call the route. A route that declares nothing does not start. */
export const Access = (rule: AccessRule) => SetMetadata(ACCESS, rule);

/** Who is calling: the user that the access token was issued to, through an application. */
export interface Caller {
  readonly username: string;
  readonly consumerKey: string;
  /** The scopes of the token. */
  readonly scopes: ReadonlySet<Scope>;
  /** The accounts of the user; an operator may act on every account. */
  readonly accountCodes: ReadonlySet<string>;
  readonly isOperator: boolean;
}

/** The caller of a protected route, as a handler's argument. */
export const CurrentCaller = createParamDecorator((_data: unknown, _context: ExecutionContext): Caller => {
  const { caller } = requestContext();
  if (!caller) throw new Error('A public route has no caller.');
  return caller;
});
