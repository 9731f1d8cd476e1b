import type { AllowedAccounts } from './context/caller.js';
import { accountForbidden } from './errors.js';

/**
 * Refuses an account in the path or in a filter if the caller may not use that account. Rows need no such check: the
 * statements that read them are limited to the caller's accounts.
 * @throws DomainError account_forbidden
 */
export function assertMayUse(allowedAccounts: AllowedAccounts, accountCode: string): void {
  if (allowedAccounts !== null && !allowedAccounts.includes(accountCode)) throw accountForbidden.error();
}
