import type { Reach } from './context/caller.js';
import { accountForbidden } from './errors.js';

/**
 * Refuses an account that a path or a filter names. A row is never refused so: the statement that reads it is bounded, and what lies
 * out of reach is not found.
 * @throws DomainError account_forbidden
 */
export function assertReaches(reach: Reach, accountCode: string): void {
  if (reach !== null && !reach.includes(accountCode)) throw accountForbidden.error();
}
