import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database, prepared } from '../platform/database/database.js';
import { FindAccountNames, FindKnownAccounts } from '../platform/known-accounts.js';

const FIND_KNOWN = prepared(
  'accounts-find-known',
  `SELECT account_code FROM accounts WHERE account_code = ANY (coalesce($1::text[], ARRAY(SELECT account_code FROM accounts)))`,
  acrossAccounts.operators,
);

const FIND_NAMES =
  'SELECT account_code, name FROM accounts WHERE account_code = ANY ($1::text[]) ORDER BY name, account_code';

@QueryHandler(FindKnownAccounts)
export class FindKnownAccountsHandler implements IQueryHandler<FindKnownAccounts> {
  constructor(private readonly database: Database) {}

  async execute({ accountCodes }: FindKnownAccounts): Promise<string[]> {
    const rows = await this.database.query<{ account_code: string }>(FIND_KNOWN, [accountCodes]);
    return rows.map((row) => row.account_code);
  }
}

@QueryHandler(FindAccountNames)
export class FindAccountNamesHandler implements IQueryHandler<FindAccountNames> {
  constructor(private readonly database: Database) {}

  execute({ accountCodes }: FindAccountNames): Promise<{ account_code: string; name: string }[]> {
    return this.database.query({ text: FIND_NAMES }, [accountCodes]);
  }
}
