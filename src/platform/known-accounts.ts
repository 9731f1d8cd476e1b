import { Query, type QueryBus } from '@nestjs/cqrs';
import type { Reach } from './context/caller.js';
import { currentReach } from './context/request-context.js';
import { accountNotFound, type Fault } from './errors.js';

/** Those of the account codes that exist. Asked by modules that do not know the accounts, which answer it. */
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
 * The accounts that a list is about: the one of its filter, else all that the caller reaches (null: every one).
 * A filter by an account out of reach is refused before (access.guard.ts).
 * @throws DomainError account_not_found
 */
export async function accountsOfList(queryBus: QueryBus, accountCode: string | undefined): Promise<Reach> {
  await assertAccountKnown(queryBus, accountCode, { parameter: 'account_code' });
  return accountCode === undefined ? currentReach() : [accountCode];
}
