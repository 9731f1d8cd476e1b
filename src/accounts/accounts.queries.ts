import { Query } from '@nestjs/cqrs';
import type { CatalogueKind } from './accounts.commands.js';

/**
 * Those of the test codes that the account does not have. The tests that it has cannot be deleted before the caller's
 * transaction ends.
 */
export class FindUnknownTests extends Query<string[]> {
  constructor(
    readonly accountCode: string,
    readonly testCodes: string[],
  ) {
    super();
  }
}

/*
 * This module asks the following queries before it removes an entry, in the same transaction. The modules that use the
 * catalogue answer them, so that this module knows none of them.
 */

/** Whether a live eligibility mentions the entry. Schools need no asking: a foreign key guards them. */
export class IsEntryInUse extends Query<boolean> {
  constructor(
    readonly kind: Exclude<CatalogueKind, 'school'>,
    readonly accountCode: string,
    readonly code: string,
  ) {
    super();
  }
}

/** Those of the portions of a test that live eligibilities have, in the order of their codes. */
export class FindPortionsInUse extends Query<string[]> {
  constructor(
    readonly accountCode: string,
    readonly testCode: string,
    readonly portionCodes: readonly string[],
  ) {
    super();
  }
}

/** Whether a voucher names the test. Eligibilities need no asking: a foreign key guards them. */
export class IsTestNamedByVoucher extends Query<boolean> {
  constructor(
    readonly accountCode: string,
    readonly testCode: string,
  ) {
    super();
  }
}

/** The attribute keys of an account, by name. */
export class FindAttributeKeys extends Query<string[]> {
  constructor(readonly accountCode: string) {
    super();
  }
}

/** How many days an account keeps what; null is for ever. */
export interface RetentionRule {
  account_code: string;
  photo_retention_days: number | null;
  video_retention_days: number | null;
  candidate_retention_days: number | null;
}

/** The rules of the accounts that have any. */
export class FindRetentionRules extends Query<RetentionRule[]> {}
