import type { AllowedAccounts } from './context/caller.js';
import { accountForbidden } from './errors.js';

/**
 * Throws if the caller may not use the account that the request names in its path or in a filter. Rows that a statement
 * finds need no such check, because each statement is limited to the caller's accounts.
 * @throws DomainError account_forbidden
 */
export function assertMayUse(allowedAccounts: AllowedAccounts, accountCode: string): void {
  if (allowedAccounts !== null && !allowedAccounts.includes(accountCode)) throw accountForbidden.error();
}
