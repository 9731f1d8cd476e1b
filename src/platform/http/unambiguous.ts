import type { NextFunction, Request, Response } from 'express';
import { malformedRequest } from '../errors.js';

/**
 * Headers that proxies and this process must interpret in the same way. If such a header is repeated, Node silently
 * keeps only the first.
 */
const ONCE = new Set(['host', 'authorization', 'content-type', 'transfer-encoding']);
const LENGTHS = new Set([...ONCE].map(({ length }) => length));

/**
 * Refuses a request that proxies and this process could read differently. Such a request repeats a header that must be
 * unique (RFC 9112 §3.2, RFC 9110 §5.3), or has a transfer coding other than `chunked` alone (RFC 9112 §6.1). A request
 * without `Host` is refused as well (§3.2).
 */
export function refuseAmbiguous(request: Request, response: Response, next: NextFunction): void {
  const { rawHeaders, httpVersion } = request;
  const coding = request.headers['transfer-encoding'];
  let isAmbiguous = coding !== undefined && coding.toLowerCase() !== 'chunked';
  isAmbiguous ||= httpVersion === '1.1' && request.headers.host === undefined;
  const seen: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (!LENGTHS.has(rawHeaders[at].length)) continue;
    const name = rawHeaders[at].toLowerCase();
    if (!ONCE.has(name)) continue;
    isAmbiguous ||= seen.includes(name);
    seen.push(name);
  }
  if (isAmbiguous) {
    // The connection is closed, because the next bytes on it may belong to the refused request.
    response.setHeader('Connection', 'close');
    next(malformedRequest.error());
  } else next();
}
