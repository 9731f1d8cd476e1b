/**
 * Protects cells against formulas in spreadsheets (OWASP, CSV injection).
 *
 * 1. An apostrophe is inserted wherever a program may see a cell begin with a formula: at the start, and after every
 *    separator and line break, because a program may split at other separators.
 * 2. Blanks, invisible characters, quotes and apostrophes before the formula are ignored, because some readers skip
 *    them. Reading removes exactly one apostrophe, also where the text already had one, so that every text is restored
 *    exactly.
 *
 * Never let the pattern skip one separator after another: each text would be scanned once for each separator.
 */
const FORMULA = '[=+\\-@＝＋－＠﹦﹢﹣﹫]';
const SEPARATOR = '[,;:|\\t\\r\\n\\v\\f\\u001c-\\u001f\\u0085\\u2028\\u2029]';
const BLANK = '[\\s\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\'"`]';
const BLANK_IN_LINE = `(?:(?!${SEPARATOR})${BLANK})`;
/**
 * Matches the position before a formula: at the start even after blank separators, elsewhere after the last separator.
 */
const BEFORE_FORMULA = (guard: string): RegExp =>
  new RegExp(`^${guard}(?=${BLANK}*${FORMULA})|(?<=${SEPARATOR})${guard}(?=${BLANK_IN_LINE}*${FORMULA})`, 'gu');

const UNGUARDED = BEFORE_FORMULA('');
const GUARDED = BEFORE_FORMULA("'");
const NEEDS_QUOTES = /[",\r\n]/;

/** Writes the cell of a text, for a file that may be opened in a spreadsheet. */
export function writeCell(text: string): string {
  const guarded = text.replace(UNGUARDED, "'");
  return NEEDS_QUOTES.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** Reads the text of a cell, without the apostrophes that {@link writeCell} added. */
export function readCell(cell: string): string {
  return cell.replace(GUARDED, '');
}

/** Writes a line with its line break (RFC 4180 §2). */
export function writeLine(texts: readonly string[]): string {
  return `${texts.map(writeCell).join(',')}\r\n`;
}
