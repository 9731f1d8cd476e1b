import type { Reach } from './context/caller.js';
import { accountForbidden } from './errors.js';

/**
 * Refuses an account in a path or filter that the caller may not use. Rows need no such check: the statements that read
 * them are limited to the caller's accounts.
 * @throws DomainError account_forbidden
 */
export function assertReaches(reach: Reach, accountCode: string): void {
  if (reach !== null && !reach.includes(accountCode)) throw accountForbidden.error();
}
