// Writes the diagram of the modules into docs/architecture.md. The diagram shows the dependencies that the dependency
// rules allow.
//
// usage: node scripts/house-picture.mjs
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const mayUse = createRequire(import.meta.url)(join(root, 'tools/directions.cjs'));
const file = join(root, 'docs/architecture.md');

const lines = [
  ...Object.entries(mayUse)
    .filter(([, used]) => used.length > 0)
    // The notifications module gets another arrow, because the dependency rule `notifications-command-nobody` lets it
    // use only events and shared fields of other modules.
    .map(([name, used]) => `${name} ${name === 'notifications' ? '-. events .->' : '-->'} ${used.join(' & ')}`),
  'platform[platform: database, outbox, change feed, jobs, HTTP, errors, secrets]',
  `${Object.keys(mayUse).join(' & ')} --> platform`,
];
const picture = ['```mermaid', 'flowchart TB', ...lines.map((line) => `    ${line}`), '```'].join('\n');

const marked = /(<!-- picture of the house: [^>]*-->\n)[^]*?(<!-- end of the picture -->)/;
const document = readFileSync(file, 'utf8');
if (!marked.test(document)) throw new Error(`${file} has no marks for the picture.`);
const drawn = document.replace(marked, (_, begin, end) => `${begin}\n${picture}\n\n${end}`);
// With --check, the script only compares the document with the rules. A test uses this.
if (process.argv.includes('--check')) process.exitCode = drawn === document ? 0 : 1;
else writeFileSync(file, drawn);
