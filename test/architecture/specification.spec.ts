import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sentences from '../specification/sentences.json';

const root = join(__dirname, '../..');
const folder = join(root, 'test/specification');
const numbers = sentences.map(({ number }) => number);

/** Sections with uniform rows: their tests are generated from the list. */
const FROM_THE_LIST = /rowsOf\((\d+),/g;

function testedIn(source: string): string[] {
  const written = [...source.matchAll(/^\s*'(\d+\.\d+)':/gm)].map(([, number]) => number);
  const sections = [...source.matchAll(FROM_THE_LIST)].map(([, section]) => `${section}.`);
  return [...written, ...numbers.filter((number) => sections.some((section) => number.startsWith(section)))];
}

test('has one number and one test for each sentence of the specification', () => {
  const tested = readdirSync(folder)
    .filter((name) => name.endsWith('.e2e.ts'))
    .flatMap((name) => testedIn(readFileSync(join(folder, name), 'utf8')));
  expect(new Set(numbers).size).toBe(numbers.length);
  expect([...tested].sort()).toEqual([...numbers].sort());
});

test('has a page of the specification that is generated from the list', () => {
  const made = execFileSync(process.execPath, ['scripts/specification.mjs', '--print'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(readFileSync(join(root, 'docs/specification.md'), 'utf8')).toBe(made);
});
