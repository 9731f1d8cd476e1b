// Generates clients/typescript/src/openapi.ts, the TypeScript types of docs/openapi.json, unless that file is newer
// than the document.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const document = join(root, 'docs/openapi.json');
const types = join(root, 'clients/typescript/src/openapi.ts');
const changed = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

if (changed(types) <= changed(document)) {
  const generator = join(createRequire(import.meta.url).resolve('openapi-typescript/package.json'), '../bin/cli.js');
  // Several programs may run this script at the same time. Each run generates a separate file and then renames it, so
  // that readers always see a complete file.
  const made = `${types}.${process.pid}`;
  execFileSync(process.execPath, [generator, document, '--output', made], { stdio: ['ignore', 'ignore', 'inherit'] });
  renameSync(made, types);
}
