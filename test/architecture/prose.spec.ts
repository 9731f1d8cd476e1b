import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { faultsOf, filesIn, passagesOfMarkdown, passagesOfProgram, programsIn, read } from './prose';

/**
 * Checks those rules of prose that a program can judge: the first words of sentences, and the words that only this
 * project uses.
 */
const root = join(__dirname, '../..');

const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['docs', 'clients', 'bench'].flatMap((folder) => filesIn(root, folder, ['.md'])),
];

/** Collects the summaries and descriptions in the OpenAPI document. Examples are skipped, because they are data. */
function textsOf(value: unknown): string[] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    if (name === 'example' || name === 'examples') return [];
    return (name === 'summary' || name === 'description') && typeof member === 'string' ? [member] : textsOf(member);
  });
}

const folders = ['src', 'console', 'test', 'scripts', 'site', 'tools', 'clients', 'demo', 'bench'];
const programs = programsIn(root, folders);

describe('the prose rules', () => {
  it.each(documents)('the prose rules hold in the document %s', (document) => {
    expect(passagesOfMarkdown(read(root, document)).flatMap(faultsOf)).toEqual([]);
  });

  it('the prose rules hold in the OpenAPI document', () => {
    const texts = textsOf(JSON.parse(read(root, 'docs/openapi.json')));
    expect(texts.length).toBeGreaterThan(1_000);
    expect(texts.flatMap(passagesOfMarkdown).flatMap(faultsOf)).toEqual([]);
  });

  it('the prose rules hold in the comments of programs and in the titles of tests', () => {
    expect(programs.length).toBeGreaterThan(500);
    const faulty = programs.map((file) => ({ file, faults: passagesOfProgram(read(root, file)).flatMap(faultsOf) }));
    expect(faulty.filter(({ faults }) => faults.length > 0)).toEqual([]);
  });

  it('the prose rules are applied to every kind of passage in documents and programs', () => {
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
          "it.each([['a']])('with %s', f);",
          'test(`in ${place}`, f);',
        ].join('\n'),
      ),
    ).toEqual(['Locks the row.', 'What is\nleft.', 'Who?', 'does it', 'of %s', 'with %s', 'in ${place}']);
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
  ] as const)('the prose rules report the faulty sentence: %s', (text, rule) => {
    expect(faultsOf(text).map((fault) => fault.rule)).toEqual([rule]);
  });

  it('the prose rules allow questions, names in backticks, "who" within a sentence, and "tell" as a command', () => {
    for (const text of ['What is left?', '`What` is a header.', 'It shows who waits.', 'Tell the partner.'])
      expect(faultsOf(text)).toEqual([]);
  });
});
