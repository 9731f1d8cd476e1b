import { Query, type QueryBus } from '@nestjs/cqrs';
import type { AllowedAccounts } from './context/caller.js';
import { currentAllowedAccounts } from './context/request-context.js';
import { accountNotFound, type Fault } from './errors.js';

/**
 * Asks which of the given account codes exist. The accounts module answers the query, so that other modules need not
 * read the table of accounts.
 */
export class FindKnownAccounts extends Query<string[]> {
  constructor(readonly accountCodes: AllowedAccounts) {
    super();
  }
}

/** Asks for the names of the given accounts. The accounts module answers the query. */
export class FindAccountNames extends Query<readonly { account_code: string; name: string }[]> {
  constructor(readonly accountCodes: readonly string[]) {
    super();
  }
}

/**
 * Checks that the account in the filter of a list exists.
 * @throws DomainError account_not_found when it does not exist
 */
export async function assertAccountKnown(
  queryBus: QueryBus,
  accountCode: string | null | undefined,
  where: Pick<Fault, 'pointer' | 'parameter'>,
): Promise<void> {
  if (accountCode == null || (await queryBus.execute(new FindKnownAccounts([accountCode]))).length > 0) return;
  throw accountNotFound.error({
    errors: [{ ...where, code: accountNotFound.code, detail: 'No account has this code.' }],
  });
}

/**
 * Returns the accounts to which a list is limited: the account in the list's filter or, without a filter, all accounts
 * of the caller. Null means every account. The access guard has already refused an account that the caller may not use.
 * @throws DomainError account_not_found
 */
export async function accountsOfList(queryBus: QueryBus, accountCode: string | undefined): Promise<AllowedAccounts> {
  await assertAccountKnown(queryBus, accountCode, { parameter: 'account_code' });
  return accountCode === undefined ? currentAllowedAccounts() : [accountCode];
}
