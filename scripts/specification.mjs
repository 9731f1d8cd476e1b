// Writes docs/specification.md from test/specification/sentences.json. With --print it only prints.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sentences = JSON.parse(readFileSync(join(root, 'test/specification/sentences.json'), 'utf8'));
const counted = (standing) => sentences.filter((sentence) => sentence.standing === standing).length;
const cell = (text) => text.replaceAll('|', '\\|');
/** Marks fields, which end with a colon, and text in braces or brackets as code, which would otherwise be markup. */
const words = (text) => cell(text.replaceAll(/(^|\s)([A-Za-z]+_\w+|\S*[{[]\S*)(?=[\s:,]|$)/g, '$1`$2`'));

const STANDINGS = {
  undefined: () => 'held',
  narrowed: ({ note, saidIn }) => `narrowed: ${words(note)} (said in ${saidIn})`,
  contradicted: ({ note, saidIn }) => `contradicts itself: ${words(note)} (said in ${saidIn})`,
};

const text = `# The specification

Each sentence, table row and limit of the specification has a number, a test whose title begins with it
(\`test/specification/\`), and a line here. \`npm run specification\` writes this page from
\`test/specification/sentences.json\`.

Of ${sentences.length}, ${counted(undefined)} are held as they stand, ${counted('narrowed')} are held and narrowed, and
${counted('contradicted')} contradict another sentence of the specification; the line says what we chose.

\`npm run mutants\` plants 41 violations of these sentences, one at a time, and runs the test of each; all 41 were caught.
${[...new Set(sentences.map(({ section }) => section))]
  .map(
    (section) => `
## ${section}

| Number | Requires | Standing |
| --- | --- | --- |
${sentences
  .filter((sentence) => sentence.section === section)
  .map((sentence) => `| ${sentence.number} | ${words(sentence.requires)} | ${STANDINGS[sentence.standing](sentence)} |`)
  .join('\n')}
`,
  )
  .join('')}`;

const formatted = await format(text, { parser: 'markdown', printWidth: 140, singleQuote: true });
if (process.argv[2] === '--print') process.stdout.write(formatted);
else writeFileSync(join(root, 'docs/specification.md'), formatted);
