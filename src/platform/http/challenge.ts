import type { Scope } from '../context/caller.js';
import { insufficientScope, type DomainError } from '../errors.js';

/** RFC 9110 §11.5: names the protected space, for bearer tokens and for client credentials alike. */
export const REALM = 'candidate-eligibility';

/** The challenge of RFC 6750 §3; without any error code when no token was sent (§3.1). */
export function challenge(...attributes: string[]): string {
  return ['Bearer realm="' + REALM + '"', ...attributes].join(', ');
}

/** The refusal of a token that was not issued for the scope. */
export function lacking(scope: Scope): DomainError {
  return insufficientScope.error({
    headers: { 'WWW-Authenticate': challenge('error="insufficient_scope"', `scope="${scope}"`) },
  });
}
