// Ends the process with a one-line message if the npm dependencies are not installed. Import this module before any
// dependency, because the import of a missing dependency fails with an error.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
if (!existsSync(join(root, 'node_modules/@nestjs/core/package.json'))) {
  process.stderr.write('The dependencies are not installed: run `npm install` first.\n');
  process.exit(1);
}
