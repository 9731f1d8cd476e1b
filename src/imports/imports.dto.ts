import { formatDateTime, formatOptionalDateTime } from '../platform/clock.js';
import { PageQuery } from '../platform/http/paging.js';
import { Field } from '../platform/validation/fields.js';
import { AccountPath, idInPath, uuidRule } from '../platform/validation/identifiers.js';
import { boolean, dateTime, flag, integer, oneOf, text } from '../platform/validation/rules.js';
import type { Import } from './import.entity.js';
import { IMPORT_STATES, MOST_ROWS, OUTCOMES, type ImportState, type Outcome } from './imports.rules.js';

const count = () => integer(0, MOST_ROWS);

export class ImportQuery {
  @Field(flag(), { description: 'With true the rows are only checked, and nothing is changed.' })
  dry_run?: string;

  @Field(text({ min: 1, max: 255, notBlank: true }), { description: 'The name of the file, for the lists of imports.' })
  file_name?: string;
}

export class ReportQuery {
  @Field(oneOf(OUTCOMES, 'outcome_unknown'), { description: 'Only rows with this outcome.' })
  outcome?: Outcome;
}

export class ImportPath extends AccountPath {
  @Field(idInPath, { required: true })
  import_id: string;
}

/** The path parameter of the operators' routes for one import. */
export class OperatorImportPath {
  @Field(idInPath, { required: true })
  import_id: string;
}

export class ImportAnswer {
  @Field(uuidRule, { required: true })
  import_id: string;
}

export class ImportModel extends ImportAnswer {
  @Field(oneOf(IMPORT_STATES, 'format_invalid'), { required: true })
  state: ImportState;

  @Field(boolean(), { required: true })
  dry_run: boolean;

  @Field(count(), { required: true, description: 'Number of received rows; 0 while RECEIVING.' })
  rows: number;

  @Field(count(), { required: true, description: 'Number of processed rows: the sum of the five following numbers.' })
  done: number;

  @Field(count(), { required: true })
  created: number;

  @Field(count(), { required: true })
  updated: number;

  @Field(count(), { required: true, description: 'Number of updates that equal the record and changed nothing.' })
  unchanged: number;

  @Field(count(), { required: true })
  cancelled: number;

  @Field(count(), { required: true })
  refused: number;

  @Field(dateTime(), { always: true })
  started: string | null;

  @Field(dateTime(), { always: true })
  finished: string | null;
}

export class ListedImportModel extends ImportModel {
  @Field(text({ max: 50 }), { required: true })
  account_code: string;

  @Field(text({ max: 200 }), { required: true, description: 'The user who sent the import.' })
  username: string;

  @Field(text({ max: 255 }), { always: true, description: 'The name of the file, if it was given.' })
  file_name: string | null;

  @Field(dateTime(), { required: true })
  received: string;
}

export class OwnImportsQuery extends PageQuery {
  @Field(oneOf(IMPORT_STATES, 'state_unknown'))
  state?: ImportState;
}

export function presentListed(row: Import): ListedImportModel {
  return {
    ...presentImport(row),
    account_code: row.account_code,
    username: row.username,
    file_name: row.file_name,
    received: formatDateTime(row.received_datetime),
  };
}

export function presentImport(row: Import): ImportModel {
  const { import_id, state, dry_run, rows, done, created, updated, unchanged, cancelled, refused } = row;
  return {
    import_id,
    state,
    dry_run,
    rows,
    done,
    created,
    updated,
    unchanged,
    cancelled,
    refused,
    started: formatOptionalDateTime(row.started_datetime),
    finished: formatOptionalDateTime(row.finished_datetime),
  };
}
