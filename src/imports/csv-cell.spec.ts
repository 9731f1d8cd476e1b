import fc from 'fast-check';
import { readCell, writeCell, writeLine } from './csv-cell.js';

describe('a cell', () => {
  it.each(['=1+1', '+49 30 1', '-1', '@SUM(A1)', '\t=1', '\r=1', "'=1", '＝1+1'])(
    'that would begin a formula is guarded: %j',
    (text) => expect(writeCell(text).replace(/^"/, '')[0]).toBe("'"),
  );

  it.each(['Ada', "O'Neill", "'quoted'", '1-2', 'a=b', ''])('of any other text is the text: %j', (text) =>
    expect(writeCell(text)).toBe(text),
  );

  it('is quoted when it holds what has a meaning in CSV', () => {
    expect(writeLine(['a,b', 'say "x"', 'two\nlines', 'plain'])).toBe('"a,b","say ""x""","two\nlines",plain\r\n');
  });

  it('gives the text back, whatever it is', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^'{0,3}[=+@-]?.{0,5}$/));
    fc.assert(
      fc.property(text, (value) => {
        const written = writeCell(value);
        const cell = written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : written;
        return readCell(cell) === value;
      }),
    );
  });
});
