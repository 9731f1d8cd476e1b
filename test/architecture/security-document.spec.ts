import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');
const document = readFileSync(join(root, 'docs/security.md'), 'utf8');

/** The names in the last column of every table that has a test behind each line. */
function namedTests(): { line: string; names: string[] }[] {
  return document
    .split('\n')
    .filter((line) => /^\| /.test(line) && line.split('|').length === 5)
    .map((line) => ({ line, names: [...line.split('|')[3].matchAll(/`([a-z-]+)`/g)].map(([, name]) => name) }));
}

describe('docs/security.md', () => {
  it('names a test behind each line of what is checked, and each is there', () => {
    const [, checked] = document.split('## One caller does not cost another anything');
    const lines = namedTests().filter(({ line }) => checked.includes(line) && !/\| (Test|-+) +\|$/.test(line));
    expect(lines.length).toBeGreaterThan(40);
    for (const { line, names } of lines) {
      expect([line, names.length > 0]).toEqual([line, true]);
      expect([line, names.filter((name) => !existsSync(join(root, `test/${name}.e2e.ts`)))]).toEqual([line, []]);
    }
  });

  it('has a line for each of the ten risks', () => {
    const risks = [...document.matchAll(/^\| API(\d+) /gm)].map(([, number]) => Number(number));
    expect(risks).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });
});
