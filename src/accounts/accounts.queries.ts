import { Query } from '@nestjs/cqrs';
import type { CatalogueKind } from './accounts.commands.js';

/**
 * Asks which of the given test codes do not exist in the account. Until the current transaction ends, the tests that do
 * exist cannot be deleted.
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
 * Before the accounts module removes a catalogue entry, it sends the following queries, in the same transaction. The
 * modules that refer to catalogue entries answer the queries. The accounts module therefore depends on none of those
 * modules.
 */

/**
 * Asks whether an active eligibility refers to the catalogue entry. Schools need no query, because a foreign key
 * protects them.
 */
export class IsEntryInUse extends Query<boolean> {
  constructor(
    readonly kind: Exclude<CatalogueKind, 'school'>,
    readonly accountCode: string,
    readonly code: string,
  ) {
    super();
  }
}

/** Asks which portions of a test are used by active eligibilities. The portions are sorted by code. */
export class FindPortionsInUse extends Query<string[]> {
  constructor(
    readonly accountCode: string,
    readonly testCode: string,
    readonly portionCodes: readonly string[],
  ) {
    super();
  }
}

/**
 * Asks whether a voucher names the test. No query is needed for eligibilities, because a foreign key protects the tests
 * to which they refer.
 */
export class IsTestNamedByVoucher extends Query<boolean> {
  constructor(
    readonly accountCode: string,
    readonly testCode: string,
  ) {
    super();
  }
}

/** Asks for the attribute keys in the catalogue of an account, sorted by name. */
export class FindAttributeKeys extends Query<string[]> {
  constructor(readonly accountCode: string) {
    super();
  }
}

/** The code of an accommodation in the catalogue of an account. */
export interface AccommodationKey {
  account_code: string;
  accommodation_code: string;
}

/** Asks for the names of accommodations. An accommodation that was deleted is not part of the result. */
export class FindAccommodationNames extends Query<(AccommodationKey & { name: string })[]> {
  constructor(readonly keys: readonly AccommodationKey[]) {
    super();
  }
}

/**
 * The retention rule of an account, which is the number of days for which each kind of data is kept. Null means
 * forever.
 */
export interface RetentionRule {
  account_code: string;
  photo_retention_days: number | null;
  video_retention_days: number | null;
  candidate_retention_days: number | null;
}

/** Asks for the retention rules of all accounts that have retention rules. */
export class FindRetentionRules extends Query<RetentionRule[]> {}

/**
 * The days on which an account announces the EXPIRING change, each as a number of days before the end date of an
 * eligibility.
 */
export interface ExpiringDays {
  account_code: string;
  expiring_days: number[];
}

/** Asks for the {@link ExpiringDays} of all accounts that have set them. */
export class FindExpiringDays extends Query<ExpiringDays[]> {}
