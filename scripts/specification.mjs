// Writes docs/specification.md from test/specification/sentences.json. With --print it only prints.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sentences = JSON.parse(readFileSync(join(root, 'test/specification/sentences.json'), 'utf8'));
const counted = (standing) => sentences.filter((sentence) => sentence.standing === standing).length;
/** Marks fields, which end with a colon, and text in braces or brackets as code, which would otherwise be markup. */
const words = (text) => text.replaceAll(/(^|\s)([A-Za-z]+_\w+|\S*[{[]\S*)(?=[\s:,]|$)/g, '$1`$2`');

const STANDINGS = {
  undefined: () => '',
  narrowed: ({ note, saidIn }) => ` **Narrowed**: ${words(note)} (described in ${saidIn}).`,
  contradicted: ({ note, saidIn }) => ` **Contradicts itself**: ${words(note)} (described in ${saidIn}).`,
};

const UNIFORM = ': optional, kept as sent';

/** Writes a section as a list; one sentence replaces a requirement that all of its rows share. */
function textOfSection(section) {
  const rows = sentences.filter((sentence) => sentence.section === section);
  if (rows.every(({ requires }) => requires.endsWith(UNIFORM))) {
    const members = rows.map(({ number, requires }) => `**${number}** ${words(requires.replace(UNIFORM, ''))}`);
    return `\n## ${section}\n\nThese members are optional and kept as sent: ${members.join(', ')}.\n`;
  }
  const lines = rows.map(
    (sentence) => `- **${sentence.number}** ${words(sentence.requires)}.${STANDINGS[sentence.standing](sentence)}`,
  );
  return `\n## ${section}\n\n${lines.join('\n')}\n`;
}

const text = `# The specification

This page lists each sentence, table row and limit of the specification, shortened, with a number. The title of its test in
\`test/specification/\` begins with this number. \`npm run specification\` writes this page from \`test/specification/sentences.json\`.

The service fulfils ${counted(undefined)} of ${sentences.length} sentences as they stand. It fulfils ${counted('narrowed')} sentences in a
narrower sense, and ${counted('contradicted')} contradict another sentence of the specification. The page says what the service does instead.

\`npm run mutants\` changes the code in 41 places so that it violates a sentence, one place at a time, and runs the test of the sentence.
The tests detected all 41 violations.
${[...new Set(sentences.map(({ section }) => section))].map(textOfSection).join('')}`;

const formatted = await format(text, { parser: 'markdown', printWidth: 140, singleQuote: true });
if (process.argv[2] === '--print') process.stdout.write(formatted);
else writeFileSync(join(root, 'docs/specification.md'), formatted);
