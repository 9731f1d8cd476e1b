/**
 * Prints passages of the project's prose, chosen by a seed, for people who judge whether they understand each.
 *
 * Equal numbers of documents, changelog, comments, titles of tests, screens and problem details.
 *
 * usage: node scripts/prose-sample.mjs [--seed 1] [--count 30]
 */
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';

const require = createRequire(import.meta.url);
require('../test/support/run-typescript.cjs');
const { filesIn, passagesOfMarkdown, passagesOfProgram, programsIn, read } = require('../test/architecture/prose.ts');

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, count: { type: 'string', default: '30' } },
});
const root = fileURLToPath(new URL('..', import.meta.url));

const FEWEST_WORDS = 5;
const isProse = (text) => text.split(/\s+/).length >= FEWEST_WORDS && /[a-z]{3}/.test(text);

const programs = programsIn(root, ['src', 'test', 'console/src', 'clients', 'bench']);
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md'),
  ...filesIn(root, 'docs', ['.md']).filter((file) => !['docs/problems.md', 'docs/specification.md'].includes(file)),
];
const of = (files, passages) => files.flatMap((file) => passages(read(root, file)).map((text) => ({ file, text })));

/** Returns the sentences of a page of the console: texts between tags, and literals that begin like a sentence. */
function textsOfScreen(source) {
  const texts = [];
  const visit = (node) => {
    if (ts.isJsxText(node)) texts.push(node.text);
    else if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) texts.push(node.getText().slice(1, -1));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('page.tsx', source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX));
  return texts.map((text) => text.trim()).filter((text) => /^[A-Z][a-z]* /.test(text));
}

const kinds = {
  document: of(documents, passagesOfMarkdown),
  changelog: of(['CHANGELOG.md'], passagesOfMarkdown),
  comment: of(programs, (source) => passagesOfProgram(source.replaceAll(/\b(?:describe|it|test)[^\n]*\(/g, ''))),
  title: of(
    programs.filter((file) => /\.(?:spec|e2e)\.ts$/.test(file)),
    (source) =>
      [...source.matchAll(/\b(?:it|test)(?:\.each\([^`'"]*?\))?\(\s*(['`])(.+?)\1,/g)].map(([, , title]) => title),
  ),
  screen: of(filesIn(root, 'console/src', ['.tsx', '.ts']), textsOfScreen),
  problem: of(['docs/problems.md'], passagesOfMarkdown),
};

/** Sorts passages by the hash of the seed and their own text, so that a new passage moves no other. */
const chosen = (passages, count) =>
  passages
    .filter(({ text }, at) => isProse(text) && passages.findIndex((other) => other.text === text) === at)
    .map((passage) => ({
      ...passage,
      key: createHash('sha256').update(`${values.seed}\n${passage.text}`).digest('hex'),
    }))
    .sort((a, b) => a.key.localeCompare(b.key))
    .slice(0, count);

const each = Math.ceil(Number(values.count) / Object.keys(kinds).length);
let number = 0;
for (const [kind, passages] of Object.entries(kinds))
  for (const { file, text } of chosen(passages, each))
    process.stdout.write(`${++number}. [${kind}] ${text.replaceAll(/\s+/g, ' ')}\n   (${file})\n`);
