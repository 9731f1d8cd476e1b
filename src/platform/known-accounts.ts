import { Query, type QueryBus } from '@nestjs/cqrs';
import type { Reach } from './context/caller.js';
import { currentReach } from './context/request-context.js';
import { accountNotFound, type Fault } from './errors.js';

/**
 * Asks which of the account codes exist. Modules without access to the accounts ask it; the module accounts answers.
 */
export class FindKnownAccounts extends Query<string[]> {
  constructor(readonly accountCodes: Reach) {
    super();
  }
}

/** @throws DomainError account_not_found when the filter of a list names an account that does not exist */
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
 * Returns the accounts of a list: the account of its filter, else all accounts of the caller (null: every account). A
 * filter by an account of others was refused before (access.guard.ts).
 * @throws DomainError account_not_found
 */
export async function accountsOfList(queryBus: QueryBus, accountCode: string | undefined): Promise<Reach> {
  await assertAccountKnown(queryBus, accountCode, { parameter: 'account_code' });
  return accountCode === undefined ? currentReach() : [accountCode];
}
