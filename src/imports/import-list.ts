import { Injectable } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { AllowedAccounts } from '../platform/context/caller.js';
import { acrossAccounts, Database, prepared } from '../platform/database/database.js';
import { afterCursor, type Page } from '../platform/http/paging.js';
import { isUuid } from '../platform/validation/identifiers.js';
import type { Import } from './import.entity.js';
import { MarkImports, type ImportMark } from './imports.queries.js';
import type { ImportState } from './imports.rules.js';

/**
 * Lists imports. $1: accounts, or null for all; $2: state, or null; $3: cursor; $4: number of rows. There are few
 * imports, because ended imports are deleted after a few weeks.
 */
const LIST = prepared(
  'imports-list',
  `SELECT * FROM eligibility_imports
   WHERE ($1::text[] IS NULL OR account_code = ANY ($1)) AND ($2::text IS NULL OR state = $2) AND ${afterCursor('$3')}
   ORDER BY position DESC LIMIT $4`,
);
const FIND = prepared(
  'import-find-of-accounts',
  `SELECT * FROM eligibility_imports WHERE import_id = $1 AND ($2::text[] IS NULL OR account_code = ANY ($2))`,
);
const MARK = prepared(
  'imports-mark',
  `SELECT account_code, concat(max(finished_datetime), ' ',
     string_agg(import_id || state || done, ' ' ORDER BY import_id) FILTER (WHERE state IN ('RECEIVING', 'RUNNING'))) AS mark
   FROM eligibility_imports GROUP BY account_code ORDER BY account_code`,
  acrossAccounts.figures,
);

/** Reads imports for operators' lists and pages. */
@Injectable()
export class ImportList {
  constructor(private readonly database: Database) {}

  /** Returns the import; null if it does not exist in the accounts of `allowedAccounts`. */
  async find(id: string, allowedAccounts: AllowedAccounts): Promise<Import | null> {
    return isUuid(id) ? this.database.queryOne<Import>(FIND, [id, allowedAccounts]) : null;
  }

  /** Returns a page of imports, newest first. */
  list(accountCodes: readonly string[] | null, state: ImportState | null, page: Page): Promise<Import[]> {
    return this.database.query<Import>(LIST, [accountCodes, state, page.after, page.take]);
  }
}

@QueryHandler(MarkImports)
export class MarkImportsHandler implements IQueryHandler<MarkImports> {
  constructor(private readonly database: Database) {}

  execute(): Promise<readonly ImportMark[]> {
    return this.database.query<ImportMark>(MARK);
  }
}
