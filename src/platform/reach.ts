import type { Reach } from './context/caller.js';
import { accountForbidden } from './errors.js';

/** @throws DomainError account_forbidden for what belongs to an account, or to none, that is out of reach */
export function assertReaches(reach: Reach, accountCode: string | null): void {
  if (reach !== null && (accountCode === null || !reach.includes(accountCode))) throw accountForbidden.error();
}
