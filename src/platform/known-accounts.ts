import { Query, type QueryBus } from '@nestjs/cqrs';
import { accountNotFound, type Fault } from './errors.js';

/** Those of the account codes that exist. Asked by modules that do not know the accounts, which answer it. */
export class FindKnownAccounts extends Query<string[]> {
  /** @param accountCodes null: all accounts */
  constructor(readonly accountCodes: readonly string[] | null) {
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
