import { Module } from '@nestjs/common';
import { AccountsReader } from './accounts.reader.js';
import { AccountsController } from './accounts.controller.js';
import {
  ChangeAccountHandler,
  CreateAccountHandler,
  DeleteCatalogueEntryHandler,
  DeleteTestHandler,
  FindAttributeKeysHandler,
  FindRetentionRulesHandler,
  FindUnknownTestsHandler,
  PutCatalogueEntryHandler,
  PutTestHandler,
} from './accounts.handlers.js';
import { FindAccountNamesHandler, FindKnownAccountsHandler } from './known-accounts.handlers.js';
import { AccommodationsController, AttributeKeysController, SchoolsController } from './catalogue.controller.js';
import { TestsController } from './tests.controller.js';

/**
 * The accounts module: accounts and their catalogues. A catalogue contains tests with portions, schools, accommodations
 * and attribute keys.
 */
@Module({
  controllers: [
    AccountsController,
    TestsController,
    SchoolsController,
    AccommodationsController,
    AttributeKeysController,
  ],
  providers: [
    AccountsReader,
    CreateAccountHandler,
    ChangeAccountHandler,
    FindRetentionRulesHandler,
    PutTestHandler,
    DeleteTestHandler,
    PutCatalogueEntryHandler,
    DeleteCatalogueEntryHandler,
    FindUnknownTestsHandler,
    FindAccountNamesHandler,
    FindKnownAccountsHandler,
    FindAttributeKeysHandler,
  ],
})
export class AccountsModule {}
