// Writes docs/specification.md from test/specification/sentences.json. With --print, the script prints the document
// instead.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sentences = JSON.parse(readFileSync(join(root, 'test/specification/sentences.json'), 'utf8'));
const counted = (standing) => sentences.filter((sentence) => sentence.standing === standing).length;
/**
 * Formats two kinds of texts as code: names of fields, which end with a colon, and texts in braces or brackets.
 * Otherwise, Markdown would treat them as markup.
 */
const words = (text) => text.replaceAll(/(^|\s)([A-Za-z]+_\w+|\S*[{[]\S*)(?=[\s:,]|$)/g, '$1`$2`');

const STANDINGS = {
  narrowed: ({ note, saidIn }) => ` Narrowed: ${words(note)} See ${saidIn}.`,
  contradicted: ({ note, saidIn }) => ` Contradiction: ${words(note)} See ${saidIn}.`,
};

/** Returns the numbers of a section's sentences, and lists the sentences that the service does not fulfil literally. */
function textOfSection(section) {
  const rows = sentences.filter((sentence) => sentence.section === section);
  const others = rows.filter(({ standing }) => standing !== undefined);
  const range = `${rows[0].number} to ${rows.at(-1).number}`;
  if (others.length === 0) return `- **${section}** (${range})\n`;
  const lines = others.map(
    (sentence) => `  - **${sentence.number}** ${words(sentence.requires)}.${STANDINGS[sentence.standing](sentence)}`,
  );
  return `- **${section}** (${range}), except:\n${lines.join('\n')}\n`;
}

const text = `# The specification

Each sentence, table row and limit of the specification has a number and a test. \`test/specification/sentences.json\` lists them, and the
title of the test in \`test/specification/\` begins with the number. \`npm run specification\` writes this page.

The service fulfils ${counted(undefined)} of ${sentences.length} sentences as they stand. It fulfils ${counted('narrowed')} sentences in a
narrower sense. Another ${counted('contradicted')} sentences contradict the specification elsewhere, and the service does what is written here.
\`npm run mutants\` changes the code in 41 places so that it violates a sentence, one place at a time. The tests detected all 41 violations.

The service fulfils these sections as they stand:

${[...new Set(sentences.map(({ section }) => section))].map(textOfSection).join('')}`;

const formatted = await format(text, { parser: 'markdown', printWidth: 140, singleQuote: true });
if (process.argv[2] === '--print') process.stdout.write(formatted);
else writeFileSync(join(root, 'docs/specification.md'), formatted);
