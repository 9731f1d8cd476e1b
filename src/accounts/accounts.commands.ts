import { Command } from '@nestjs/cqrs';

export interface NewAccount {
  account_code: string;
  name: string;
  created_datetime: Date;
}

export class CreateAccount extends Command<NewAccount> {
  constructor(readonly name: string) {
    super();
  }
}

export interface AccountChanges {
  name?: string;
  photo_retention_days?: number | null;
  video_retention_days?: number | null;
  candidate_retention_days?: number | null;
}

/** Changes an account; an omitted member keeps its value. @throws DomainError account_not_found */
export class ChangeAccount extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly changes: AccountChanges,
  ) {
    super();
  }
}

export interface TestDefinition {
  name: string;
  /** The exam's id in the external system, called `exam_code` in notifications. */
  exam_code: string | null;
  launch_url: string | null;
  duration_minutes: number | null;
  /** The deadline of clients to move or cancel a booking, in hours before its start. */
  change_cutoff_hours: number | null;
  /** The earliest launch of a booked exam, in minutes before its start. */
  launch_minutes_before: number | null;
  /** The portions of the test in display order: at least one, without duplicate codes. */
  portions: { portion_code: string; portion_name: string | null }[];
}

/**
 * Creates the test, or replaces its definition.
 * @throws DomainError account_not_found; forbidden_operation when a live eligibility has an omitted portion
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
 * @throws DomainError not_found; forbidden_operation when an eligibility was ever created for the test, or a voucher
 * names it
 */
export class DeleteTest extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly testCode: string,
  ) {
    super();
  }
}

/** The simple kinds of catalogue entries, each with the members that an entry has besides its code. */
export interface CatalogueDefinitions {
  school: { name: string };
  accommodation: { name: string; requires_approval: boolean };
  'attribute-key': { name: string };
}
export type CatalogueKind = keyof CatalogueDefinitions;

/**
 * Creates the catalogue entry, or replaces its definition.
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
 * Deletes the catalogue entry.
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
