import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { ContextValue } from './context-value.js';
import { currentSpan, type CurrentSpan } from './current-span.js';
import { allowedAccountsOf, type Caller, type AllowedAccounts, type PartnerAccess } from './caller.js';

/**
 * Facts about the current request. The code that handles the request can read them at any time, even after an await.
 */
export interface RequestContext {
  readonly requestId: string | null;
  readonly traceparent: string | null;
  caller: Caller | null;
  /** The account in the request's path, once the access check has passed; null before that. */
  accountCode: string | null;
  /**
   * The subscriptions and accounts to which a request on a route for the `partner` scope is limited; null on other
   * routes. The access check sets the value.
   */
  partnerAccess: PartnerAccess | null;
  /**
   * The names of the members in the request's body. Null for a request without a body, and until the body has passed
   * the check for undeclared members.
   */
  members: readonly string[] | null;
}

const servedRequest = new ContextValue<RequestContext>();
const OUTSIDE: RequestContext = Object.freeze({
  requestId: null,
  traceparent: null,
  caller: null,
  accountCode: null,
  partnerAccess: null,
  members: null,
});

/** Returns the context of the current request. In background work, the context is empty. */
export function requestContext(): RequestContext {
  return servedRequest.current ?? OUTSIDE;
}

/**
 * Runs background work on behalf of a user. The audit entries of this work have the user's name and the id of the
 * original request.
 */
export function inTheNameOf<T>(caller: Caller, requestId: string | null, work: () => T): T {
  return servedRequest.run({ ...OUTSIDE, requestId, caller }, work);
}

/**
 * Runs work that several requests share. The work belongs to no single request, and to no trace except the trace of
 * `span`.
 */
export function outsideOfRequests<T>(span: CurrentSpan | undefined, work: () => T): T {
  return servedRequest.run(OUTSIDE, () => currentSpan.run(span, work));
}

/**
 * Returns the accounts that the current request may concern. In background work there is no caller, so the list is
 * empty; such work passes its own list of accounts.
 */
export function currentAllowedAccounts(): AllowedAccounts {
  const { partnerAccess, caller } = requestContext();
  return partnerAccess ? partnerAccess.accountCodes : allowedAccountsOf(caller);
}

/**
 * Returns the subscriptions that the current request may access on a route for the `partner` scope. On any other route,
 * returns null: the request may access every subscription of the allowed accounts.
 */
export function currentAllowedSubscriptions(): readonly string[] | null {
  return requestContext().partnerAccess?.subscriptionIds ?? null;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
// Matches a `traceparent` of version 00 whose ids are not all zero (W3C Trace Context §3.2).
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

class ServedRequest implements RequestContext {
  caller: Caller | null = null;
  accountCode: string | null = null;
  partnerAccess: PartnerAccess | null = null;
  members: readonly string[] | null = null;
  private trace: string | null = null;

  constructor(
    readonly requestId: string,
    private readonly given: string | string[] | undefined,
  ) {}

  /**
   * The `traceparent` of the request. The value is created when it is first used, because most requests raise no event.
   */
  get traceparent(): string {
    return currentSpan.current?.traceparent ?? (this.trace ??= traceparentOf(this.given));
  }
}

/**
 * Assigns an id to every request: the id that the caller sent if it is well-formed, otherwise a new id. Also keeps the
 * `traceparent` that the caller sent.
 */
export function requestContextMiddleware(request: Request, response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
  response.setHeader('X-Request-Id', requestId);
  servedRequest.run(new ServedRequest(requestId, request.headers['traceparent']), next);
}

/** Returns a `traceparent` with a new parent id, in the given trace (W3C Trace Context §3.4) or in a new trace. */
function traceparentOf(given: string | string[] | undefined): string {
  // The random ids are taken from UUIDs, because Node generates the random bytes for many UUIDs at once. The last 16
  // digits of a UUID are random except for two bits.
  const span = randomHex().slice(16);
  if (typeof given === 'string' && TRACEPARENT.test(given)) return `${given.slice(0, 36)}${span}${given.slice(52)}`;
  return `00-${randomHex()}-${span}-00`;
}

function randomHex(): string {
  return randomUUID().replaceAll('-', '');
}
