import fc from 'fast-check';
import { parse } from 'csv-parse/sync';
import { readCell, writeCell, writeLine } from './csv-cell.js';

const BLANKS = [' ', '\u00a0', '\u200b', '\ufeff', '\u2060', '\u3000', '\u00ad', '\u180e', '\t', '\r', '\n', "'", '"'];
const SEPARATORS = [',', ';', ':', '|', '\t', '\n', '\r', '\v', '\u2028'];
const FORMULAS = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/** Generates strings of characters that have a meaning in CSV, such as separators and quotes. */
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...BLANKS, ...SEPARATORS, ...FORMULAS, 'x', '1'), fc.string({ maxLength: 3 })))
  .map((parts) => parts.join(''));

/** Splits a line into cells like a simple program that supports only one separator and ignores quotes. */
function cellsOf(line: string, separator: string): string[] {
  const bare = line.replaceAll('"', '');
  return [...bare.split(separator), ...bare.split(new RegExp(`[${separator === '|' ? '\\|' : separator}\r\n]`))];
}
const isFormula = (cell: string) => /^[\s\p{Cc}\p{Cf}"`]*[=+\-@＝＋－＠]/u.test(cell);

describe('a CSV cell', () => {
  it.each(['=1+1', '+49 30 1', '-1', '@SUM(A1)', '\t=1', '\r=1', "'=1", '＝1+1'])(
    'inserts an apostrophe at the start of a CSV cell that a spreadsheet would read as a formula: %j',
    (text) => expect(writeCell(text).replace(/^"/, '')[0]).toBe("'"),
  );

  it.each(BLANKS)('inserts an apostrophe at the start of a CSV cell if a formula follows the character %j', (blank) => {
    expect(writeCell(`${blank}=1+1`).replace(/^"/, '')[0]).toBe("'");
    expect(writeCell(`${blank}${blank}@A`).replace(/^"/, '')[0]).toBe("'");
  });

  it.each(SEPARATORS)('inserts an apostrophe where a formula follows the separator %j in a CSV cell', (separator) => {
    expect(writeCell(`x${separator}=1+1`).replaceAll('"', '')).toBe(`x${separator}'=1+1`);
    expect(writeCell(`x${separator} \u00a0=1+1`).replaceAll('"', '')).toBe(`x${separator}' \u00a0=1+1`);
  });

  it.each(['Ada', "O'Neill", "'quoted'", '1-2', 'a=b', 'A;B', 'a - b', '2030-05-14T09:00:00Z', ''])(
    'writes a CSV cell with harmless text unchanged: %j',
    (text) => expect(writeCell(text)).toBe(text),
  );

  it('quotes a CSV cell that contains a separator, a quote or a line break', () => {
    expect(writeLine(['a,b', 'say "x"', 'two\nlines', 'plain'])).toBe('"a,b","say ""x""","two\nlines",plain\r\n');
  });

  it('writes no CSV cell that a spreadsheet would read as a formula, regardless of the separator and the text', () => {
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 3 }), (texts) => {
        const line = writeLine(texts);
        return [',', ';', ':', '|', '\t'].every((separator) => !cellsOf(line, separator).some(isFormula));
      }),
      { numRuns: 2000 },
    );
  });

  it('reads a CSV cell back as exactly the text that was written', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), hostile), { minLength: 1, maxLength: 4 }), (texts) => {
        const [cells] = parse(writeLine(texts), { record_delimiter: '\r\n', skip_empty_lines: false });
        expect(cells.map(readCell)).toEqual(texts);
      }),
      { numRuns: 2000 },
    );
  });

  it('scans a long CSV cell of blanks and separators in linear time', () => {
    // The cells are so long that a scan in quadratic time would take minutes.
    const parts = [' ', '\t', '\n', ';', "'", ' \t', '; '];
    const lengths = parts.map((part) => readCell(writeCell(part.repeat(300_000))).length);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(300_000);
  });
});
