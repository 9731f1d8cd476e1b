import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { v4 as uuid } from 'uuid';
import type { Fault } from '../errors.js';
import type { Caller } from './access.js';

/** What is known of the request that is being served; follows it through every await. */
export interface RequestContext {
  readonly requestId: string | null;
  readonly traceparent: string | null;
  caller: Caller | null;
  /** What path, query and body were found to have against them, so that one answer names all of it. */
  readonly faults: Fault[];
}

const storage = new AsyncLocalStorage<RequestContext>();
const OUTSIDE: RequestContext = Object.freeze({ requestId: null, traceparent: null, caller: null, faults: [] });

/** The context of the running request; an empty one in background work. */
export function requestContext(): RequestContext {
  return storage.getStore() ?? OUTSIDE;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
// W3C Trace Context §3.2: version 00, ids not all zero
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Gives every request an id (the caller's when it is well formed) and keeps the trace it belongs to. */
export function requestContextMiddleware(request: Request, response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : uuid();
  response.setHeader('X-Request-Id', requestId);
  storage.run({ requestId, traceparent: traceparentOf(request), caller: null, faults: [] }, next);
}

/** The same trace with a parent id of our own (W3C Trace Context §3.4), or a new trace. */
function traceparentOf(request: Request): string {
  const given = request.headers['traceparent'];
  const span = randomBytes(8).toString('hex');
  if (typeof given === 'string' && TRACEPARENT.test(given)) return `${given.slice(0, 36)}${span}${given.slice(52)}`;
  return `00-${randomBytes(16).toString('hex')}-${span}-00`;
}
