import type { OpenAPIObject } from '@nestjs/swagger';
import { integer, text } from '../platform/validation/rules.js';

/** Matches the characters that HTTP allows in the value of a header (RFC 9110 §5.5). */
const PRINTABLE = /^[\x20-\x7e]*$/;
/**
 * The maximum length of a response header that repeats the address of the request. 32 KiB suffice, because the head of
 * a request has at most 16 KiB.
 */
const MOST_OF_ADDRESS = 32 * 1024;

const header = (description: string, max = 1000, pattern = PRINTABLE) => ({
  description,
  schema: text({ max, pattern }).schema,
});

/** The response headers that are meant for programs. */
const HEADERS = {
  'X-Request-Id': header(
    'The `X-Request-Id` of the request, or a new id if the request had none. The log and the audit log contain it.',
    64,
    /^[A-Za-z0-9._-]+$/,
  ),
  RateLimit: header(
    'The remaining quota, and the seconds until the quota is full again (draft-ietf-httpapi-ratelimit-headers).',
  ),
  'RateLimit-Policy': header('The quota: the number of requests, and the seconds for which it applies.'),
  'Retry-After': {
    description: 'The number of seconds to wait before the next request.',
    schema: integer(0, 2 ** 31 - 1).schema,
  },
  'WWW-Authenticate': header(
    'The required authentication scheme, and the error in the credentials that were sent (RFC 6750 §3, RFC 7617).',
  ),
  'Idempotency-Replayed': {
    description: '`true` if this is the response to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
  Link: header(
    '`<…>; rel="next"`: the address of the next page (RFC 8288). A deprecated route also has `rel="deprecation"`.',
    MOST_OF_ADDRESS,
  ),
  Location: header('The address to which the browser is redirected.', MOST_OF_ADDRESS),
  'Content-Disposition': header('The suggested file name.'),
  'Set-Cookie': header('Sets or deletes the session cookie of an operator in the console. Programs do not need it.'),
  Deprecation: header('The time of the announcement: `@` and the seconds since 1970 (RFC 9745).', 20, /^@[0-9]+$/),
  Sunset: header('The time from which the route may be removed (RFC 8594).', 29),
  ETag: header(
    'The version of the document. Send it as `If-None-Match`; status 304 then means that nothing has changed (RFC ' +
      '9110 §8.8.3).',
  ),
};
type Name = keyof typeof HEADERS;

interface Operation {
  deprecated?: boolean;
  parameters?: { name: string; in: string }[];
  responses: Record<string, { headers?: Record<string, object> }>;
}

const IS_DOCUMENT = /^\/($|(problems|\.well-known)(\/|$))/;
const TAKES_RESULTS = /^\/(registrations\/registration\/results|accounts\/\{account_code\})$/;
const IS_FILE = /(\.csv|\/report)$/;
const IS_SESSION = /^\/console\//;
const HAS_NO_QUOTA = /^\/health\//;

/** Documents the headers of every response. */
export function describeHeaders(document: OpenAPIObject): void {
  const used = new Set<string>();
  for (const [path, item] of Object.entries(document.paths))
    for (const operation of Object.values(item) as Operation[])
      for (const [status, response] of Object.entries(operation.responses))
        for (const name of headersOf(path, operation, Number(status))) {
          (response.headers ??= {})[name] = { $ref: `#/components/headers/${name}` };
          used.add(name);
        }
  document.components!.headers = Object.fromEntries(Object.entries(HEADERS).filter(([name]) => used.has(name)));
}

function headersOf(path: string, { parameters = [], deprecated }: Operation, status: number): Name[] {
  const takes = (name: string) => parameters.some((parameter) => parameter.name === name);
  const isOpen = HAS_NO_QUOTA.test(path);
  const headers: Name[] = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];
  if (status === 429 || (status === 503 && !isOpen)) headers.push('Retry-After');
  // The routes for test results respond with 500 instead of 503. Their 500 responses therefore have the `Retry-After`
  // header that 503 responses usually have.
  if (status === 500 && TAKES_RESULTS.test(path)) headers.push('Retry-After');
  if (status === 409 && takes('Idempotency-Key')) headers.push('Retry-After');
  if (status === 401 || (status === 403 && !IS_DOCUMENT.test(path))) headers.push('WWW-Authenticate');
  if (status < 300 && takes('Idempotency-Key')) headers.push('Idempotency-Replayed');
  if (status === 200 && (takes('cursor') || takes('after'))) headers.push('Link');
  if (status === 303) headers.push('Location');
  if (status === 200 && IS_FILE.test(path)) headers.push('Content-Disposition');
  if (IS_SESSION.test(path) && status < 500 && status !== 429) headers.push('Set-Cookie');
  if (status === 200 && IS_DOCUMENT.test(path)) headers.push('ETag');
  if (deprecated && status < 400)
    headers.push('Deprecation', 'Sunset', ...(headers.includes('Link') ? [] : ['Link' as const]));
  return headers;
}
