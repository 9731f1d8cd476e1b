import { writeLine } from '../../../src/imports/csv-cell';

/** Returns the rows as CSV (RFC 4180). Inserted apostrophes prevent a spreadsheet from reading a cell as a formula. */
export function csvText(rows: readonly (readonly (string | number | null | undefined)[])[]): string {
  return rows.map((row) => writeLine(row.map((value) => String(value ?? '')))).join('');
}
