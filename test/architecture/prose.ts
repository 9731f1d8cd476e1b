import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** Words that only this project uses, each with the usual word for it. Words in backticks (`gathering`) are skipped. */
const PRIVATE_WORDS: [RegExp, string][] = [
  [/\b(?:is|are|was|were|be|been|being) told\b/i, 'is notified, is informed'],
  [/\btells? (?:of|apart)\b/i, 'reports, shows'],
  [/\b(?:is|are|was|were) owed\b/i, 'is due'],
  [/\bserved (?:its|their) time\b/i, 'has expired'],
  [/\bstands? (?:in|at|there|for itself|beside|behind|under|elsewhere)\b/i, 'is in; the page has'],
  [/\bin place of\b/i, 'instead of'],
  [/\bgatherings?\b/i, 'batch, batcher'],
  [/\bguests?\b/i, 'joined unit of work'],
  [/\blanes?\b/i, 'queue of a partner'],
  [/\bsound\b/i, 'valid'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix, correct'],
  [/\bknock(?:s|ed|ing)?\b/i, 'attempt'],
];

const FIRST = /^(?:What|Who|Whatever|Whoever|Whom|Whose|That which)\b/;

export interface Fault {
  rule: 'first word' | 'private word';
  text: string;
}

function sentencesOf(passage: string): string[] {
  return passage.split(/(?<=[.!?]["”)*_]*)\s+/).map((sentence) => sentence.replace(/^["“(*_]+/, ''));
}

/** Finds words that only this project uses, and sentences that begin with a relative pronoun. Questions are allowed. */
export function faultsOf(passage: string): Fault[] {
  const plain = passage
    .replaceAll(/`[^`]*`|[\w./-]+\.(?:tsx?|mjs|cjs)\b/g, 'code')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return sentencesOf(plain).flatMap((sentence): Fault[] => {
    const text = sentence.slice(0, 80);
    return [
      ...(FIRST.test(sentence) && !sentence.includes('?') ? [{ rule: 'first word', text } as const] : []),
      ...PRIVATE_WORDS.filter(([word]) => word.test(sentence)).map(
        ([, better]) => ({ rule: 'private word', text: `${text} (${better})` }) as const,
      ),
    ];
  });
}

/** Splits Markdown into paragraphs, headings, list items and table cells. Code blocks are omitted. */
export function passagesOfMarkdown(markdown: string): string[] {
  return markdown
    .replaceAll(/^( *)```[^]*?^\1```$/gm, '')
    .replaceAll(/<!--[^]*?-->/g, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |#|\|))/)
    .flatMap((block) => (block.trimStart().startsWith('|') ? block.split(/\s\|\s?|^\s*\|\s/) : [block]))
    .map((block) => block.replace(/^\s*(?:[-*] |\d+\. |#+ (?:\d+\. )?)/, '').trim())
    .filter((block) => block !== '');
}

/** Extracts the comments and the titles of tests from a program's text. */
export function passagesOfProgram(source: string): string[] {
  return [...commentsOf(source), ...titlesOf(source)];
}

/** Extracts the comments from a program's text. */
export function commentsOf(source: string): string[] {
  const blocks = [...source.matchAll(/(?:^|\s)\/\*\*?\s([^]*?)\*\//g)].map(([, text]) =>
    text.replaceAll(/^\s*\* ?/gm, '').trim(),
  );
  const lines = [...source.matchAll(/(?:^[ \t]*\/\/ .*\n?)+|[ \t]\/\/ .*/gm)].map(([text]) =>
    text.replaceAll(/^\s*\/\/ /gm, '').trim(),
  );
  return [...blocks, ...lines];
}

/** Extracts the titles of tests from a program's text, including the titles of tests that are declared with `each`. */
export function titlesOf(source: string, functions = ['describe', 'it', 'test']): string[] {
  const called = new RegExp(`^(?:${functions.join('|')})(?:\\.each)?$`);
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const [title] = node.arguments;
      const callee = ts.isCallExpression(node.expression) ? node.expression.expression : node.expression;
      const isText = title && (ts.isStringLiteralLike(title) || ts.isTemplateExpression(title));
      if (isText && called.test(callee.getText())) titles.push(title.getText().slice(1, -1));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('test.ts', source, ts.ScriptTarget.Latest, true));
  return titles;
}

/** Lists the files below a folder that have one of the extensions. Installed and built files are omitted. */
export function filesIn(root: string, folder: string, endings: string[]): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const file = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return ['node_modules', 'dist'].includes(entry.name) ? [] : filesIn(root, file, endings);
      return endings.some((ending) => entry.name.endsWith(ending)) ? [file] : [];
    })
    .sort();
}

/**
 * Programs that are generated from the OpenAPI document. They are not checked, because the prose of the document is.
 */
const GENERATED = ['clients/typescript/src/openapi.ts'];

/** Lists the hand-written programs in the folders. */
export const programsIn = (root: string, folders: string[]): string[] =>
  folders
    .flatMap((folder) => filesIn(root, folder, ['.ts', '.tsx', '.mjs', '.cjs']))
    .filter((file) => !GENERATED.includes(file));

export const read = (root: string, file: string): string => readFileSync(join(root, file), 'utf8');
