import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');
const read = (name: string) => readFileSync(join(root, name), 'utf8');
const document = read('docs/security.md');

/** Maps names of files to their paths, for the files below the folder that have the given ending. */
const filesByName = (folder: string, ending: string) =>
  new Map(
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith(ending))
      .map((path) => [path.split(/[\\/]/).at(-1)!, join(folder, path)]),
  );
const specs = filesByName('src', '.spec.ts');
const suites = filesByName('test', '.e2e.ts');

/** Returns the test file to which a name in the documents refers; null if the file does not exist. */
function fileOf(name: string): string | null {
  return (name.endsWith('.spec.ts') ? specs.get(name) : suites.get(`${name}.e2e.ts`)) ?? null;
}

/** Returns the cells of each row of the Markdown tables, without the header rows. */
function linesOf(markdown: string): string[][] {
  return markdown
    .split('\n')
    .filter((line, at, lines) => /^\| /.test(line) && !/^\| -/.test(line) && !/^\| -/.test(lines[at + 1] ?? ''))
    .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | +\|$/g, '').trim()));
}

/** Returns the errors in the last cell of a table row, which names test files as `name` or `name.spec.ts`. */
function faultsOfLine(line: string[]): string[] {
  const names = [...line.at(-1)!.matchAll(/`([\w.-]+)`/g)].map(([, name]) => name);
  if (names.length === 0) return [`${line[0]}: no test`];
  return names.filter((name) => fileOf(name) === null).map((name) => `${line[0]}: ${name}`);
}

describe('docs/security.md', () => {
  it('docs/security.md names an existing test for each line of its table of checks', () => {
    const [, checked] = document.split('## Limits that protect callers from each other');
    const lines = linesOf(checked);
    expect(lines.length).toBeGreaterThan(50);
    expect(lines.flatMap(faultsOfLine)).toEqual([]);
  });

  it('docs/security.md has a line for each of the ten OWASP API security risks', () => {
    const risks = [...document.matchAll(/^\| API(\d+) /gm)].map(([, number]) => Number(number));
    expect(risks).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });
});

describe('docs/oauth.md', () => {
  it('docs/oauth.md names an existing test for each line of its conformance table', () => {
    const lines = linesOf(read('docs/oauth.md').split('## Conformance')[1]);
    expect(lines.length).toBeGreaterThan(8);
    expect(lines.flatMap(faultsOfLine)).toEqual([]);
  });
});

describe("the check of the documents' tables", () => {
  const table = (line: string) => linesOf(`| A | B |\n| --- | --- |\n${line}\n`);

  it.each([
    ['a line without a test', '| nothing | tested by eye |', ['nothing: no test']],
    ['a test that is gone', '| gone | `audit`, `no-such-test` |', ['gone: no-such-test']],
    ['a spec that is gone', '| gone | `no-such.spec.ts` |', ['gone: no-such.spec.ts']],
  ])('the check of tables in documents reports %s', (_title, line, faults) => {
    expect(table(line).flatMap(faultsOfLine)).toEqual(faults);
  });
});
