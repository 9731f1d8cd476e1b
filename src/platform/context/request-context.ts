import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { ContextValue } from './context-value.js';
import { currentSpan, type CurrentSpan } from './current-span.js';
import { reachOf, type Caller, type Reach } from './caller.js';

/** Facts about the request that is being served; they follow it through every await. */
export interface RequestContext {
  readonly requestId: string | null;
  readonly traceparent: string | null;
  caller: Caller | null;
  /** The account that the path names, once the caller may act on it. */
  accountCode: string | null;
  /** Names of the members of the body, once each is known to be one that the route has; null without such a body. */
  members: readonly string[] | null;
}

const servedRequest = new ContextValue<RequestContext>();
const OUTSIDE: RequestContext = Object.freeze({
  requestId: null,
  traceparent: null,
  caller: null,
  accountCode: null,
  members: null,
});

/** The context of the running request; an empty one in background work. */
export function requestContext(): RequestContext {
  return servedRequest.current ?? OUTSIDE;
}

/** Does background work in somebody's name: what it leaves in the audit log is theirs, under the id of their request. */
export function inTheNameOf<T>(caller: Caller, requestId: string | null, work: () => T): T {
  return servedRequest.run({ requestId, traceparent: null, caller, accountCode: null, members: null }, work);
}

/** Does what requests share: it belongs to none of them, and to no trace but that of the span. */
export function outsideOfRequests<T>(span: CurrentSpan | undefined, work: () => T): T {
  return servedRequest.run(OUTSIDE, () => currentSpan.run(span, work));
}

/** Returns the accounts that the running request may concern. Without a caller there is none: background work names its own reach. */
export function currentReach(): Reach {
  return reachOf(requestContext().caller);
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
// W3C Trace Context §3.2: version 00, ids not all zero
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

class ServedRequest implements RequestContext {
  caller: Caller | null = null;
  accountCode: string | null = null;
  members: readonly string[] | null = null;
  private trace: string | null = null;

  constructor(
    readonly requestId: string,
    private readonly given: string | string[] | undefined,
  ) {}

  /** Made when it is asked for: most requests raise no event. */
  get traceparent(): string {
    return currentSpan.current?.traceparent ?? (this.trace ??= traceparentOf(this.given));
  }
}

/** Gives every request an id (the caller's when it is well formed) and keeps the trace it belongs to. */
export function requestContextMiddleware(request: Request, response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
  response.setHeader('X-Request-Id', requestId);
  servedRequest.run(new ServedRequest(requestId, request.headers['traceparent']), next);
}

/** The same trace with a parent id of our own (W3C Trace Context §3.4), or a new trace. */
function traceparentOf(given: string | string[] | undefined): string {
  // Node keeps the random bytes of many UUIDs in stock; the last 16 digits are random but for two bits.
  const span = randomHex().slice(16);
  if (typeof given === 'string' && TRACEPARENT.test(given)) return `${given.slice(0, 36)}${span}${given.slice(52)}`;
  return `00-${randomHex()}-${span}-00`;
}

function randomHex(): string {
  return randomUUID().replaceAll('-', '');
}
