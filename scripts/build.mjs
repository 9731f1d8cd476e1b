// Compiles the sources into dist and bundles the service there.
import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

rmSync(join(root, 'dist'), { recursive: true, force: true });
const { status } = spawnSync(process.execPath, [tsc], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
if (status !== 0) throw new Error('The build failed.');
copyFiles('src');
await import('./bundle.mjs');

/** What is served or run as it is: the files of the console, and code of threads. */
function copyFiles(folder) {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (path === 'src/console/assets' || path.endsWith('.cjs'))
      cpSync(join(root, path), join(root, 'dist', path), { recursive: true });
    else if (entry.isDirectory()) copyFiles(path);
  }
}
