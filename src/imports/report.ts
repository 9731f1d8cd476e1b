import { writeLine } from './csv-cell.js';
import type { Ending, Outcome, RowOutcome } from './imports.rules.js';

/** The byte order mark, which makes spreadsheet programs read the report as UTF-8. */
export const BYTE_ORDER_MARK = '\ufeff';

/** The columns of an import's report, from left to right. */
const COLUMNS = [
  'row',
  'outcome',
  'code',
  'pointer',
  'detail',
  'line',
  'candidate_id',
  'test_code',
  'svc_eligiblity_id',
  'column',
  'value',
] as const;
type ReportRow = Partial<Record<(typeof COLUMNS)[number], string>>;

const written = (row: ReportRow): string => writeLine(COLUMNS.map((column) => row[column] ?? ''));

export const reportHead = (): string => BYTE_ORDER_MARK + writeLine(COLUMNS);

/**
 * Returns the report's lines about some rows. A row with faults or warnings has a line for each of them; any other row
 * has one line. The report of a dry run contains no record ids.
 * @param only the outcome of the rows that are included; undefined for all rows
 */
export function reportLines(
  firstRow: number,
  outcomes: readonly RowOutcome[],
  isDry: boolean,
  only: Outcome | undefined,
): string {
  return outcomes
    .map((row, index) => (only === undefined || row[0] === only ? linesOf(firstRow + index, row, isDry) : ''))
    .join('');
}

function linesOf(number: number, row: RowOutcome, isDry: boolean): string {
  const [outcome, line, candidate_id, test_code, record, faults = []] = row;
  const common: ReportRow = {
    row: String(number),
    outcome,
    line: String(line),
    candidate_id,
    test_code,
    svc_eligiblity_id: isDry && isNew(outcome) ? '' : record,
  };
  if (faults.length === 0) return written(common);
  return faults
    .map(({ code, pointer = '', detail, column = '', value = '' }) =>
      written({ ...common, code, pointer, detail, column, value }),
    )
    .join('');
}

const isNew = (outcome: Outcome): boolean => outcome === 'CREATED';

const WHY: Record<Ending, { code: string; detail: string }> = {
  ABORTED: { code: 'import_aborted', detail: 'The import was aborted' },
  ABORTED_BY_OPERATOR: { code: 'import_aborted_by_operator', detail: 'An operator aborted the import' },
  ACCESS_LOST: {
    code: 'import_access_lost',
    detail:
      'The user or the application that sent the import was disabled, or lost access to the account or the scope create',
  },
  BODY_LOST: { code: 'import_body_lost', detail: 'The connection was lost before the whole file arrived' },
};

/** Returns the report's line about the rows that were not processed because the import ended early. */
export function endingLine(row: number, ending: Ending): string {
  const { code, detail } = WHY[ending];
  return written({
    row: String(row),
    outcome: 'NOT_DONE',
    code,
    detail: `${detail}. This row and all rows after it were not processed.`,
  });
}

/** Returns the report's line about an imported file that has a header line but no rows. */
export function emptyLine(): string {
  return written({
    row: '0',
    outcome: 'NOT_DONE',
    code: 'import_empty',
    detail: 'The file has no rows. Nothing was changed.',
  });
}
