import type { Scope } from '../context/caller.js';
import { insufficientScope, type DomainError } from '../errors.js';

/** The realm of bearer tokens and client credentials (RFC 9110 §11.5). */
export const REALM = 'candidate-eligibility';

/** Returns the challenge of RFC 6750 §3. Without a token in the request, it has no error code (§3.1). */
export function challenge(...attributes: string[]): string {
  return ['Bearer realm="' + REALM + '"', ...attributes].join(', ');
}

/** Returns the error for a token that lacks the scope. */
export function lacking(scope: Scope): DomainError {
  return insufficientScope.error({
    headers: { 'WWW-Authenticate': challenge('error="insufficient_scope"', `scope="${scope}"`) },
  });
}
