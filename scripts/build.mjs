// Compiles the sources into dist, bundles the service there, and builds the console and the guide.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole } from './build-console.mjs';
import './client-types.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

const started = new Date();
// The console stays: it is built again only when it has changed.
mkdirSync(join(root, 'dist'), { recursive: true });
for (const name of readdirSync(join(root, 'dist')))
  if (name !== 'console') rmSync(join(root, 'dist', name), { recursive: true, force: true });
// The console's types are those of the API: a member that is renamed there fails here.
await Promise.all([compile([]), compile(['-p', 'console']), buildConsole()]);
copyFiles('src');
await import('./bundle.mjs');
const { buildGuide } = await import('../site/build.mjs');
for (const fault of await buildGuide(join(root, 'dist/guide'))) process.stderr.write(`The guide: ${fault}\n`);
// What changed since is newer than this: scripts/start.mjs compares.
writeFileSync(join(root, 'dist/.built'), '');
utimesSync(join(root, 'dist/.built'), started, started);

function compile(options) {
  return new Promise((resolve, reject) => {
    const compiler = spawn(process.execPath, [tsc, ...options], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    compiler.once('exit', (status) => (status === 0 ? resolve() : reject(new Error('The build failed.'))));
  });
}

/** Code of threads is run as it is. */
function copyFiles(folder) {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (path.endsWith('.cjs')) cpSync(join(root, path), join(root, 'dist', path));
    else if (entry.isDirectory()) copyFiles(path);
  }
}
