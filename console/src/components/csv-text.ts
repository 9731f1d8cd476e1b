import { writeLine } from '../../../src/imports/csv-cell';

/** Returns a CSV (RFC 4180) whose cells a spreadsheet reads as texts: none of them can be a formula. */
export function csvText(rows: readonly (readonly (string | number | null | undefined)[])[]): string {
  return rows.map((row) => writeLine(row.map((value) => String(value ?? '')))).join('');
}
