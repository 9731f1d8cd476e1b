import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { ContextValue } from './context-value.js';
import { currentSpan, type CurrentSpan } from './current-span.js';
import { reachOf, type Caller, type Reach } from './caller.js';

/** Facts about the current request. They are available across every await. */
export interface RequestContext {
  readonly requestId: string | null;
  readonly traceparent: string | null;
  caller: Caller | null;
  /** The account in the path, once the caller is known to be allowed to use it. */
  accountCode: string | null;
  /** Names of the members of the body, once the route is known to have them all; null without such a body. */
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

/** Returns the context of the running request; an empty context in background work. */
export function requestContext(): RequestContext {
  return servedRequest.current ?? OUTSIDE;
}

/**
 * Runs background work on behalf of a user: its audit entries carry the user's name and the id of the original request.
 */
export function inTheNameOf<T>(caller: Caller, requestId: string | null, work: () => T): T {
  return servedRequest.run({ requestId, traceparent: null, caller, accountCode: null, members: null }, work);
}

/** Runs work that several requests share. It belongs to no single request, and to no trace except the span's. */
export function outsideOfRequests<T>(span: CurrentSpan | undefined, work: () => T): T {
  return servedRequest.run(OUTSIDE, () => currentSpan.run(span, work));
}

/**
 * Returns the accounts that the running request may concern. Background work has no caller and gets none: it passes its
 * own bound.
 */
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

  /** Created on first use: most requests raise no event. */
  get traceparent(): string {
    return currentSpan.current?.traceparent ?? (this.trace ??= traceparentOf(this.given));
  }
}

/** Gives every request an id (the caller's, when it is well formed) and keeps its trace. */
export function requestContextMiddleware(request: Request, response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
  response.setHeader('X-Request-Id', requestId);
  servedRequest.run(new ServedRequest(requestId, request.headers['traceparent']), next);
}

/** Returns the same trace with a new parent id (W3C Trace Context §3.4), or a new trace. */
function traceparentOf(given: string | string[] | undefined): string {
  // Node buffers the random bytes of many UUIDs. The last 16 digits are random except for two bits.
  const span = randomHex().slice(16);
  if (typeof given === 'string' && TRACEPARENT.test(given)) return `${given.slice(0, 36)}${span}${given.slice(52)}`;
  return `00-${randomHex()}-${span}-00`;
}

function randomHex(): string {
  return randomUUID().replaceAll('-', '');
}
