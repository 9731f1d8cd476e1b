/**
 * Prints passages of the project's prose for people who judge whether they understand each passage. A seed determines
 * which passages are printed.
 *
 * The sample contains equal numbers of passages from documents, changelog, comments, titles of tests, screens and
 * problem details. A passage is shown as its reader sees it: a row of a table with the headings of its columns, an item
 * of a list with the sentence that introduces the list, and an entry of the error catalogue as a whole. The file and
 * the section follow each passage.
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
const { commentsOf, filesIn, programsIn, read, titlesOf } = require('../test/architecture/prose.ts');

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
  ...['clients', 'bench'].flatMap((folder) => filesIn(root, folder, ['.md'])),
];
const of = (files, passages) =>
  files.flatMap((file) =>
    passages(read(root, file)).map((passage) =>
      typeof passage === 'string' ? { file, text: passage } : { file, ...passage },
    ),
  );

const cellsOf = (row) =>
  row
    .trim()
    .replaceAll(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());

/** A character that marks a block of Markdown as the first line of a code block. */
const CODE = '\u0000';

/** Splits Markdown into blocks: headings, paragraphs, items of lists, rows of tables, and first lines of code. */
const blocksOf = (markdown) =>
  markdown
    .replaceAll(/^( *)```[^\n]*\n(.*)[^]*?^\1```$/gm, (_block, _indent, line) => `\n\n${CODE}${line.trim()}\n\n`)
    .replaceAll(/<!--[^]*?-->/g, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |#|\|))/)
    .filter((block) => block.trim() !== '');

/** Returns the passages of a document as a reader of the page sees them, each with its section. */
function passagesOfDocument(markdown) {
  const passages = [];
  let [section, introduction, columns] = ['', '', null];
  /** The last passage, if it ends with a colon. The next item, row or line of code is appended to this passage. */
  let open = null;
  const complete = (text) => {
    if (open !== null) open.text += ` ${text}`;
    open = null;
  };
  for (const block of blocksOf(markdown)) {
    if (block.trimStart().startsWith(CODE)) {
      complete(`\`${block.trim().slice(CODE.length)}\` …`);
      continue;
    }
    const [, heading] = /^#+ (.*)/.exec(block) ?? [];
    const [, indent, item] = /^\n*(\s*)(?:[-*]|\d+\.) ([^]*)/.exec(block) ?? [];
    const row = block.trimStart().startsWith('|') ? cellsOf(block) : null;
    if (row !== null && columns === null) columns = row;
    else if (row !== null) {
      if (row.every((cell) => /^:?-+:?$/.test(cell))) continue;
      const shown = row.map((cell, at) => (cell === '' || !columns[at] ? cell : `${columns[at]}: ${cell}`));
      const text = shown.filter((cell) => cell !== '').join(' | ');
      complete(text);
      passages.push({ section, text });
    } else if (heading !== undefined) {
      [section, introduction, open] = [heading, '', null];
      passages.push({ section, text: heading });
    } else if (item !== undefined) {
      complete(item);
      passages.push({ section, text: introduction === '' ? item : `${introduction} … ${item}` });
      if (indent === '') continue;
    } else {
      introduction = block
        .trim()
        .split(/(?<=[.!?:])\s+(?=[A-Z`*[])/)
        .at(-1);
      passages.push({ section, text: block.trim() });
      open = block.trim().endsWith(':') ? passages.at(-1) : null;
    }
    if (row === null) columns = null;
  }
  return passages;
}

/** Returns the entries of the error catalogue, each as one passage. */
const entriesOfCatalogue = (markdown) =>
  markdown
    .split(/^## /m)
    .slice(1)
    .map((entry) => entry.trim().replaceAll(/\n+/g, ' · '));

/**
 * Returns the sentences on a page of the console. They are texts between tags, and string literals that begin like a
 * sentence.
 */
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
  document: of(documents, passagesOfDocument),
  changelog: of(['CHANGELOG.md'], passagesOfDocument),
  comment: of(programs, commentsOf),
  title: of(
    programs.filter((file) => /\.(?:spec|e2e)\.ts$/.test(file)),
    (source) => titlesOf(source, ['it', 'test']),
  ),
  screen: of(filesIn(root, 'console/src', ['.tsx', '.ts']), textsOfScreen),
  problem: of(['docs/problems.md'], entriesOfCatalogue),
};

/**
 * Selects passages in the order of a hash of the seed and the passage's text. A new passage therefore does not change
 * the order of the other passages.
 */
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
  for (const { file, section, text } of chosen(passages, each))
    process.stdout.write(
      `${++number}. [${kind}] ${text.replaceAll(/\s+/g, ' ')}\n   (${section ? `${file}: ${section}` : file})\n`,
    );
