import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sentences from '../specification/sentences.json';

const root = join(__dirname, '../..');
const folder = join(root, 'test/specification');
const numbers = sentences.map(({ number }) => number);

/** Matches the sections of the specification whose tests are generated from the list of sentences. */
const FROM_THE_LIST = /rowsOf\((\d+),/g;

function testedIn(source: string): string[] {
  const written = [...source.matchAll(/^\s*'(\d+\.\d+)':/gm)].map(([, number]) => number);
  const sections = [...source.matchAll(FROM_THE_LIST)].map(([, section]) => `${section}.`);
  return [...written, ...numbers.filter((number) => sections.some((section) => number.startsWith(section)))];
}

test('each sentence of the specification has one number and one test', () => {
  const tested = readdirSync(folder)
    .filter((name) => name.endsWith('.e2e.ts'))
    .flatMap((name) => testedIn(readFileSync(join(folder, name), 'utf8')));
  expect(new Set(numbers).size).toBe(numbers.length);
  expect([...tested].sort()).toEqual([...numbers].sort());
});

test('docs/specification.md is identical to the page that npm run specification generates', () => {
  const made = execFileSync(process.execPath, ['scripts/specification.mjs', '--print'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(readFileSync(join(root, 'docs/specification.md'), 'utf8')).toBe(made);
});
