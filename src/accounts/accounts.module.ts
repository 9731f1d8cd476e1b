import { Module } from '@nestjs/common';
import { FindExpiringDaysHandler, FindRetentionRulesHandler } from './account-rules.handlers.js';
import { AccountsReader } from './accounts.reader.js';
import { AccountsController } from './accounts.controller.js';
import {
  ChangeAccountHandler,
  CreateAccountHandler,
  DeleteCatalogueEntryHandler,
  DeleteTestHandler,
  FindUnknownTestsHandler,
  PutCatalogueEntryHandler,
  PutTestHandler,
} from './accounts.handlers.js';
import { FindAccountNamesHandler, FindKnownAccountsHandler } from './known-accounts.handlers.js';
import { AccommodationsController, AttributeKeysController, SchoolsController } from './catalogue.controller.js';
import { FindAccommodationNamesHandler, FindAttributeKeysHandler } from './catalogue-names.handlers.js';
import { TestsController } from './tests.controller.js';

/**
 * The accounts module, which manages accounts and their catalogues. A catalogue contains tests with portions, schools,
 * accommodations and attribute keys.
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
    FindExpiringDaysHandler,
    FindRetentionRulesHandler,
    PutTestHandler,
    DeleteTestHandler,
    PutCatalogueEntryHandler,
    DeleteCatalogueEntryHandler,
    FindUnknownTestsHandler,
    FindAccountNamesHandler,
    FindKnownAccountsHandler,
    FindAccommodationNamesHandler,
    FindAttributeKeysHandler,
  ],
})
export class AccountsModule {}
