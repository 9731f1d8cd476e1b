import type { Reach } from './context/caller.js';
import { accountForbidden } from './errors.js';

/**
 * Refuses an account in a path or a filter that the caller may not use. Rows are never refused in this way: the
 * statement that reads them is bounded, so rows of other accounts are not found.
 * @throws DomainError account_forbidden
 */
export function assertReaches(reach: Reach, accountCode: string): void {
  if (reach !== null && !reach.includes(accountCode)) throw accountForbidden.error();
}
