import { writeLine } from '../../../src/imports/csv-cell';

/** Returns CSV (RFC 4180). A spreadsheet reads every cell as a text: no cell can be a formula. */
export function csvText(rows: readonly (readonly (string | number | null | undefined)[])[]): string {
  return rows.map((row) => writeLine(row.map((value) => String(value ?? '')))).join('');
}
