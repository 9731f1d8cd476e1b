/**
 * Guards cells against formulas in spreadsheets (OWASP, CSV injection).
 *
 * 1. A text is guarded by an apostrophe wherever a program may see a cell begin with a formula: at its start, and behind
 *    every separator and line break, which a program that takes another separator for the file's splits at.
 * 2. Blanks, invisible characters, quotes and apostrophes between such a place and the formula count as nothing: readers
 *    skip some of them. An apostrophe that is there already changes nothing, so that reading takes exactly one off
 *    again, and every text comes back as it was.
 *
 * Never let a separator count as skipped behind another one: each text would be looked through once for each separator.
 */
const FORMULA = '[=+\\-@＝＋－＠﹦﹢﹣﹫]';
const SEPARATOR = '[,;:|\\t\\r\\n\\v\\f\\u001c-\\u001f\\u0085\\u2028\\u2029]';
const BLANK = '[\\s\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\'"`]';
const BLANK_IN_LINE = `(?:(?!${SEPARATOR})${BLANK})`;
/** The place before a formula: at the start even behind separators that are blanks, elsewhere behind the last of them. */
const BEFORE_FORMULA = (guard: string): RegExp =>
  new RegExp(`^${guard}(?=${BLANK}*${FORMULA})|(?<=${SEPARATOR})${guard}(?=${BLANK_IN_LINE}*${FORMULA})`, 'gu');

const UNGUARDED = BEFORE_FORMULA('');
const GUARDED = BEFORE_FORMULA("'");
const NEEDS_QUOTES = /[",\r\n]/;

/** Returns the cell of a text, for a file that may be opened in a spreadsheet. */
export function writeCell(text: string): string {
  const guarded = text.replace(UNGUARDED, "'");
  return NEEDS_QUOTES.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** Returns the text of a cell, without the guards that {@link writeCell} gave it. */
export function readCell(cell: string): string {
  return cell.replace(GUARDED, '');
}

/** Returns a line with its end (RFC 4180 §2). */
export function writeLine(texts: readonly string[]): string {
  return `${texts.map(writeCell).join(',')}\r\n`;
}
