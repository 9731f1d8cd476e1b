import type { Request } from 'express';
import type { Scope } from '../context/caller.js';
import { insufficientScope, unauthorized, type DomainError } from '../errors.js';

/** The realm in the challenges for bearer tokens and client credentials (RFC 9110 §11.5). */
export const REALM = 'candidate-eligibility';

/**
 * Returns the value of the `WWW-Authenticate` header (RFC 6750 §3). If the request has no token, the value contains no
 * error code (§3.1).
 */
function challenge(...attributes: string[]): string {
  return ['Bearer realm="' + REALM + '"', ...attributes].join(', ');
}

/**
 * Returns the error response for a request without a valid token. The response is the same for malformed, expired and
 * revoked tokens, byte for byte.
 */
export function unauthenticated(request: Request): DomainError {
  const presented = /^Bearer +[^ ]/i.test(request.headers.authorization ?? '');
  return unauthorized.error({
    headers: { 'WWW-Authenticate': presented ? challenge('error="invalid_token"') : challenge() },
  });
}

/** Returns the error response for a token that lacks the given scope. */
export function lacking(scope: Scope): DomainError {
  return insufficientScope.error({
    headers: { 'WWW-Authenticate': challenge('error="insufficient_scope"', `scope="${scope}"`) },
  });
}
