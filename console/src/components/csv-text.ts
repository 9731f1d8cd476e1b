import { writeLine } from '../../../src/imports/csv-cell';

/** Returns CSV (RFC 4180). No cell can be a formula, so a spreadsheet reads every cell as text. */
export function csvText(rows: readonly (readonly (string | number | null | undefined)[])[]): string {
  return rows.map((row) => writeLine(row.map((value) => String(value ?? '')))).join('');
}
