import { Command } from '@nestjs/cqrs';

export interface NewAccount {
  account_code: string;
  name: string;
  created_datetime: Date;
}

export class CreateAccount extends Command<NewAccount> {
  constructor(
    readonly name: string,
    readonly expiringDays: readonly number[] = [],
  ) {
    super();
  }
}

export interface AccountChanges {
  name?: string;
  photo_retention_days?: number | null;
  video_retention_days?: number | null;
  candidate_retention_days?: number | null;
  expiring_days?: number[];
}

/**
 * Changes an account; an omitted member keeps its value.
 * @throws DomainError account_not_found
 */
export class ChangeAccount extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly changes: AccountChanges,
  ) {
    super();
  }
}

/**
 * The retake policy of a test, which decides when a candidate may take the test again. An eligibility counts as an
 * attempt when it is COMPLETED or ABSENT.
 */
export interface RetakePolicy {
  /** The number of days that a candidate must wait after an attempt before taking the test again. */
  wait_days?: number | null;
  /** The number of attempts that a candidate may make in `period_days` or, without a period, in total. */
  max_attempts?: number | null;
  period_days?: number | null;
}

export interface TestDefinition {
  name: string;
  /** The id of the exam in a system outside this service. Notifications contain it as `exam_code`. */
  exam_code: string | null;
  launch_url: string | null;
  duration_minutes: number | null;
  /** The deadline for clients to move or cancel a booking, in hours before its start. */
  change_cutoff_hours: number | null;
  /** The earliest time at which a booked exam can be launched, in minutes before its start. */
  launch_minutes_before: number | null;
  /** The retake policy of the test; null if the test does not limit attempts. */
  retake: RetakePolicy | null;
  /** The portions of the test in display order. There is at least one portion, and all codes are distinct. */
  portions: { portion_code: string; portion_name: string | null }[];
}

/**
 * Creates a test in the account's catalogue, or replaces the test's definition.
 * @throws DomainError account_not_found; forbidden_operation when the new definition omits a portion that an active
 * eligibility uses
 */
export class PutTest extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly testCode: string,
    readonly definition: TestDefinition,
  ) {
    super();
  }
}

/**
 * Deletes the test.
 * @throws DomainError not_found; forbidden_operation if an eligibility was ever created for the test, or if a voucher
 * names the test
 */
export class DeleteTest extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly testCode: string,
  ) {
    super();
  }
}

/** The simple kinds of catalogue entries, each with the members that an entry of this kind has besides its code. */
export interface CatalogueDefinitions {
  school: { name: string };
  accommodation: { name: string; requires_approval: boolean };
  'attribute-key': { name: string };
}
export type CatalogueKind = keyof CatalogueDefinitions;

/**
 * Creates a catalogue entry, or replaces the entry's definition.
 * @throws DomainError account_not_found
 */
export class PutCatalogueEntry<Kind extends CatalogueKind = CatalogueKind> extends Command<void> {
  constructor(
    readonly kind: Kind,
    readonly accountCode: string,
    readonly code: string,
    readonly definition: CatalogueDefinitions[Kind],
  ) {
    super();
  }
}

/**
 * Deletes a catalogue entry.
 * @throws DomainError not_found; forbidden_operation while eligibilities use the entry
 */
export class DeleteCatalogueEntry extends Command<void> {
  constructor(
    readonly kind: CatalogueKind,
    readonly accountCode: string,
    readonly code: string,
  ) {
    super();
  }
}
