/**
 * Protects cells against formulas in spreadsheets (OWASP, CSV injection).
 *
 * 1. An apostrophe is inserted at each place where a program may see the beginning of a formula. These places are the
 *    start of the cell, and the position after every separator and line break, because a program may split at other
 *    separators.
 * 2. Blanks, invisible characters, quotes and apostrophes before the formula are ignored, because some readers skip
 *    them. {@link readCell} removes exactly one apostrophe at each such place, so a text that already had an apostrophe
 *    there is also restored exactly.
 *
 * Never let the pattern skip several separators in a row. Otherwise, the rest of the text would be scanned again for
 * each separator.
 */
const FORMULA = '[=+\\-@＝＋－＠﹦﹢﹣﹫]';
const SEPARATOR = '[,;:|\\t\\r\\n\\v\\f\\u001c-\\u001f\\u0085\\u2028\\u2029]';
const BLANK = '[\\s\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\'"`]';
const BLANK_IN_LINE = `(?:(?!${SEPARATOR})${BLANK})`;
/**
 * Matches each place where an apostrophe must precede a formula. One such place is the start of the text, even if tabs
 * or line breaks come before the formula. The other is the position directly after the last separator before the
 * formula.
 */
const BEFORE_FORMULA = (guard: string): RegExp =>
  new RegExp(`^${guard}(?=${BLANK}*${FORMULA})|(?<=${SEPARATOR})${guard}(?=${BLANK_IN_LINE}*${FORMULA})`, 'gu');

const UNGUARDED = BEFORE_FORMULA('');
const GUARDED = BEFORE_FORMULA("'");
const NEEDS_QUOTES = /[",\r\n]/;

/** Returns the text as a cell of a CSV file that may be opened in a spreadsheet. */
export function writeCell(text: string): string {
  const guarded = text.replace(UNGUARDED, "'");
  return NEEDS_QUOTES.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** Returns the text of a cell, without the apostrophes that {@link writeCell} inserted. */
export function readCell(cell: string): string {
  return cell.replace(GUARDED, '');
}

/** Returns a line of cells with its line break (RFC 4180 §2). */
export function writeLine(texts: readonly string[]): string {
  return `${texts.map(writeCell).join(',')}\r\n`;
}
