import { Injectable } from '@nestjs/common';
import { In, type EntityTarget, type ObjectLiteral } from 'typeorm';
import { Database } from '../platform/database/database.js';
import { newestFirst, type Page } from '../platform/http/paging.js';
import { Account } from './account.entity.js';
import type { CatalogueKind } from './accounts.commands.js';
import { CATALOGUE, type CatalogueEntries } from './catalogue.js';
import { TestPortion } from './test-portion.entity.js';
import { Test } from './test.entity.js';

/** A test with its portions, in the order in which the test defines them. */
export type TestWithPortions = Test & { portions: Pick<TestPortion, 'portion_code' | 'portion_name'>[] };

/** Reads accounts and their catalogues. Lists are sorted newest first. */
@Injectable()
export class AccountsReader {
  constructor(private readonly database: Database) {}

  accounts(page: Page): Promise<Account[]> {
    return this.database.manager.find(Account, newestFirst(page));
  }

  findAccount(accountCode: string): Promise<Account | null> {
    return this.database.manager.findOneBy(Account, { account_code: accountCode });
  }

  entries<Kind extends CatalogueKind>(kind: Kind, accountCode: string, page: Page): Promise<CatalogueEntries[Kind][]> {
    const where = { account_code: accountCode };
    return this.database.manager.find(entityOf(kind), newestFirst(page, where)) as Promise<CatalogueEntries[Kind][]>;
  }

  findEntry<Kind extends CatalogueKind>(
    kind: Kind,
    accountCode: string,
    code: string,
  ): Promise<CatalogueEntries[Kind] | null> {
    const where = { account_code: accountCode, [CATALOGUE[kind].codeColumn]: code };
    return this.database.manager.findOneBy(entityOf(kind), where) as Promise<CatalogueEntries[Kind] | null>;
  }

  async tests(accountCode: string, page: Page): Promise<TestWithPortions[]> {
    const where = { account_code: accountCode };
    return this.withPortions(accountCode, await this.database.manager.find(Test, newestFirst(page, where)));
  }

  async findTest(accountCode: string, testCode: string): Promise<TestWithPortions | null> {
    const test = await this.database.manager.findOneBy(Test, { account_code: accountCode, test_code: testCode });
    return test && (await this.withPortions(accountCode, [test]))[0];
  }

  private async withPortions(account_code: string, tests: Test[]): Promise<TestWithPortions[]> {
    const portions = await this.database.manager.find(TestPortion, {
      where: { account_code, test_code: In(tests.map((test) => test.test_code)) },
      order: { ordinal: 'ASC' },
    });
    return tests.map((test) => ({
      ...test,
      portions: portions
        .filter((portion) => portion.test_code === test.test_code)
        .map(({ portion_code, portion_name }) => ({ portion_code, portion_name })),
    }));
  }
}

function entityOf(kind: CatalogueKind): EntityTarget<ObjectLiteral> {
  return CATALOGUE[kind].entity;
}
