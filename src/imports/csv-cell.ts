/**
 * What a spreadsheet would take for the beginning of a formula (OWASP, CSV injection), the full-width forms included. Such
 * a text is written with an apostrophe before it, and so is one that begins like a text written that way: reading takes
 * one apostrophe off again, and every text comes back as it was.
 */
const BEGINS_A_FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;
const WAS_GUARDED = /^'(?='*[=+\-@\t\r\n＝＋－＠])/;
const NEEDS_QUOTES = /[",\r\n]/;

/** The cell of a text, for a file that may be opened in a spreadsheet. */
export function writeCell(text: string): string {
  const guarded = BEGINS_A_FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** The text of a cell, without the guard that {@link writeCell} gave it. */
export function readCell(cell: string): string {
  return cell.replace(WAS_GUARDED, '');
}

/** A line with its end (RFC 4180 §2). */
export function writeLine(texts: readonly string[]): string {
  return `${texts.map(writeCell).join(',')}\r\n`;
}
