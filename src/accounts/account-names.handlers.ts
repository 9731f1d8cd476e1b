import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { In } from 'typeorm';
import { Database } from '../platform/database/database.js';
import { Account } from './account.entity.js';
import { FindAccountNames } from './accounts.queries.js';

@QueryHandler(FindAccountNames)
export class FindAccountNamesHandler implements IQueryHandler<FindAccountNames> {
  constructor(private readonly database: Database) {}

  async execute({ accountCodes }: FindAccountNames): Promise<ReadonlyMap<string, string>> {
    const found = await this.database.manager.findBy(Account, { account_code: In([...accountCodes]) });
    return new Map(found.map(({ account_code, name }) => [account_code, name]));
  }
}
