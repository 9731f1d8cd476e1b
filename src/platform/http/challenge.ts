import type { Scope } from '../context/caller.js';
import { insufficientScope, type DomainError } from '../errors.js';

/** The realm (RFC 9110 §11.5) of bearer tokens and client credentials. */
export const REALM = 'candidate-eligibility';

/** Builds the challenge of RFC 6750 §3; without an error code when no token was sent (§3.1). */
export function challenge(...attributes: string[]): string {
  return ['Bearer realm="' + REALM + '"', ...attributes].join(', ');
}

/** Builds the refusal of a token that was not issued for the scope. */
export function lacking(scope: Scope): DomainError {
  return insufficientScope.error({
    headers: { 'WWW-Authenticate': challenge('error="insufficient_scope"', `scope="${scope}"`) },
  });
}
