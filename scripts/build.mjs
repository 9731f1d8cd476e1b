// Compiles the sources into dist according to nest-cli.json, bundles the service in dist, and builds the console and
// the guide. The Nest CLI itself is not used, because its `engines` cause a warning on Node 20.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole } from './build-console.mjs';
import './client-types.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

const { sourceRoot, compilerOptions } = JSON.parse(readFileSync(join(root, 'nest-cli.json'), 'utf8'));
/** The extensions of the files that are copied unchanged. These files are the programs of worker processes. */
const assets = compilerOptions.assets.map((pattern) => pattern.replace('**/*', ''));

const started = new Date();
// The console in dist is kept, because it is rebuilt only when its sources have changed.
mkdirSync(join(root, 'dist'), { recursive: true });
for (const name of readdirSync(join(root, 'dist')))
  if (name !== 'console') rmSync(join(root, 'dist', name), { recursive: true, force: true });
// The console uses the API's types, and is therefore compiled together with the service. If a member has been renamed,
// the build fails here.
await Promise.all([compile(['-p', compilerOptions.tsConfigPath]), compile(['-p', 'console']), buildConsole()]);
copyFiles(sourceRoot);
await import('./bundle.mjs');
const { buildGuide } = await import('../site/build.mjs');
for (const fault of await buildGuide(join(root, 'dist/guide'))) process.stderr.write(`The guide: ${fault}\n`);
// scripts/start.mjs compares the times of the sources with the time of this file.
writeFileSync(join(root, 'dist/.built'), '');
utimesSync(join(root, 'dist/.built'), started, started);

function compile(options) {
  return new Promise((resolve, reject) => {
    const compiler = spawn(process.execPath, [tsc, ...options], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    compiler.once('exit', (status) => (status === 0 ? resolve() : reject(new Error('The build failed.'))));
  });
}

function copyFiles(folder) {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (assets.some((ending) => path.endsWith(ending))) cpSync(join(root, path), join(root, 'dist', path));
    else if (entry.isDirectory()) copyFiles(path);
  }
}
