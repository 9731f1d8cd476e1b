import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { faultsOf, filesIn, passagesOfMarkdown, passagesOfProgram, read, type Fault } from './prose';

/** How we write, as far as a program can judge it: first words of sentences, and private words. */
const root = join(__dirname, '../..');

const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['docs', 'clients', 'bench'].flatMap((folder) => filesIn(root, folder, ['.md'])),
];

/** `first word` and `private word` of the programs that were written before the rules. The numbers may only fall. */
const BASELINE: Record<string, [number, number]> = {
  bench: [25, 12],
  clients: [32, 29],
  console: [52, 13],
  'docs/problems.md': [4, 7],
  'src/bookings': [3, 3],
  'src/changes': [1, 1],
  'src/console': [10, 3],
  'src/eligibility': [23, 11],
  'src/imports': [20, 9],
  'src/launch': [3, 2],
  'src/migrations': [4, 0],
  'src/notifications': [72, 45],
  'src/openapi': [4, 2],
  'src/platform': [17, 7],
  'src/privacy': [1, 1],
  'src/results': [36, 9],
  test: [154, 109],
  tools: [1, 0],
};

/** `src/auth` of `src/auth/…`, else the folder at the top. */
const folderOf = (file: string): string => /^src\/[^/]+(?=\/)|^[^/]+/.exec(file)![0];

const numbersOf = (faults: Fault[]): [number, number] => [
  faults.filter(({ rule }) => rule === 'first word').length,
  faults.filter(({ rule }) => rule === 'private word').length,
];

function faultsByFolder(): Map<string, Fault[]> {
  const folders = new Map<string, Fault[]>();
  const add = (folder: string, faults: Fault[]) => folders.set(folder, [...(folders.get(folder) ?? []), ...faults]);
  for (const folder of ['src', 'console', 'test', 'scripts', 'site', 'tools', 'clients', 'demo', 'bench'])
    for (const file of filesIn(root, folder, ['.ts', '.tsx', '.mjs', '.cjs']))
      add(folderOf(file), passagesOfProgram(read(root, file)).flatMap(faultsOf));
  return folders;
}

describe('the prose', () => {
  it.each(documents.filter((name) => name !== 'docs/problems.md'))('of %s keeps the rules', (document) => {
    expect(passagesOfMarkdown(read(root, document)).flatMap(faultsOf)).toEqual([]);
  });

  it('of comments and of titles of tests has no more faults than it had', () => {
    const folders = faultsByFolder();
    folders.set('docs/problems.md', passagesOfMarkdown(read(root, 'docs/problems.md')).flatMap(faultsOf));
    const grown = [...folders].flatMap(([folder, faults]) => {
      const [words, privates] = numbersOf(faults);
      const [mayWords, mayPrivates] = BASELINE[folder] ?? [0, 0];
      return words > mayWords || privates > mayPrivates ? [{ folder, words, privates, faults }] : [];
    });
    expect(grown).toEqual([]);
  });

  it('is read in every kind of passage', () => {
    expect(
      passagesOfMarkdown('# 1. Title\n\n- one\n- two\n  more\n\n| A | B |\n| - | - |\n\n```sh\ncode\n```\n'),
    ).toEqual([...['Title', 'one', 'two\n  more', 'A', 'B'], ...['-', '-']]);
    expect(
      passagesOfProgram(
        [
          '/** Locks the row. */',
          '// What is',
          '// left.',
          'const url = "https://x"; // Who?',
          "it('does it', f);",
          "describe.each([1])('of %s', f);",
        ].join('\n'),
      ),
    ).toEqual(['Locks the row.', 'What is\nleft.', 'Who?', 'does it', 'of %s']);
  });

  it.each([
    ['What waits is refused.', 'first word'],
    ['A call is refused. Who waits gets 503.', 'first word'],
    ['**Whoever** waits gets 503.', 'first word'],
    ['That which waits is refused.', 'first word'],
    ['The partner is told of it.', 'private word'],
    ['A notification is owed.', 'private word'],
    ['The rule stands in the document.', 'private word'],
    ['A session in place of a token.', 'private word'],
    ['Each partner has a lane.', 'private word'],
    ['The gathering is full.', 'private word'],
    ['Mend the body.', 'private word'],
  ] as const)('is found at fault: %s', (text, rule) => {
    expect(faultsOf(text).map((fault) => fault.rule)).toEqual([rule]);
  });

  it('may ask, name code, and use the words where they are the right ones', () => {
    for (const text of ['What is left?', '`What` is a header.', 'It shows who waits.', 'Tell the partner.'])
      expect(faultsOf(text)).toEqual([]);
  });
});
