import { readCell } from '../../../src/imports/csv-cell';

/** A row of a CSV file, or a line of another text file. The text is exactly the same as in the file. */
export interface TextRow {
  /** The number of the line at which the row begins in the file, counted from 1. */
  line: number;
  text: string;
}

/**
 * Splits a file into its rows. In a CSV file, a line break within quotes belongs to the row.
 * @param quoted whether the file is a CSV file
 */
export function rowsOf(file: string, quoted: boolean): TextRow[] {
  const rows: TextRow[] = [];
  let row: TextRow | null = null;
  let isOpen = false;
  for (const [index, text] of file.split(/\r\n|\n|\r/).entries()) {
    if (row === null || !isOpen) rows.push((row = { line: index + 1, text }));
    else row.text += `\n${text}`;
    if (quoted && text.split('"').length % 2 === 0) isOpen = !isOpen;
  }
  return rows.filter(({ text }) => text !== '');
}

/** Returns the cells of a row of a CSV file that the service wrote. */
export function cellsOf(row: string): string[] {
  // A comma is added to the row, so that the pattern finds a comma after every cell, including the last one.
  const cells = `${row},`.matchAll(/("(?:[^"]|"")*"|[^,]*),/g);
  return [...cells].map(([, cell]) => readCell(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell));
}

/**
 * Returns the refused part of an imported file. It consists of the header line and the rows that begin at the given
 * lines.
 * @param isCsv whether the file has a header line
 */
export function refusedPart(file: string, lines: ReadonlySet<number>, isCsv: boolean): string {
  const rows = rowsOf(file, isCsv);
  const head = isCsv ? rows.findIndex(({ text }) => !/^sep=/i.test(text)) : -1;
  return rows
    .filter(({ line }, index) => index <= head || lines.has(line))
    .map(({ text }) => `${text}\r\n`)
    .join('');
}
