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

/** A member that is left out keeps its value. @throws DomainError account_not_found */
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
  /** The exam's id in the external system: what notifications call `exam_code`. */
  exam_code: string | null;
  launch_url: string | null;
  duration_minutes: number | null;
  /** Later than so many hours before its start, a client no longer moves or cancels a booking. */
  change_cutoff_hours: number | null;
  /** A booked exam can be launched from so many minutes before its start. */
  launch_minutes_before: number | null;
  /** One or more, in the order in which they are shown; no code twice. */
  portions: { portion_code: string; portion_name: string | null }[];
}

/**
 * Makes the test, or replaces its definition.
 * @throws DomainError account_not_found; forbidden_operation when a live eligibility has a portion that is left out
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

/** @throws DomainError not_found; forbidden_operation when an eligibility was ever made for it, or a voucher names it */
export class DeleteTest extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly testCode: string,
  ) {
    super();
  }
}

/** The simple kinds of the catalogue: a code, and these members. */
export interface CatalogueDefinitions {
  school: { name: string };
  accommodation: { name: string; requires_approval: boolean };
  'attribute-key': { name: string };
}
export type CatalogueKind = keyof CatalogueDefinitions;

/**
 * Makes the entry, or replaces its definition.
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

/** @throws DomainError not_found; forbidden_operation while eligibilities need the entry */
export class DeleteCatalogueEntry extends Command<void> {
  constructor(
    readonly kind: CatalogueKind,
    readonly accountCode: string,
    readonly code: string,
  ) {
    super();
  }
}
