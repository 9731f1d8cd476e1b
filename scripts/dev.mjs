// Runs the service and compiles and starts it anew whenever a source changes.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';

await import('./build.mjs');
const { resolve } = createRequire(import.meta.url);
const tsc = resolve('typescript/bin/tsc');
const vite = join(resolve('vite/package.json'), '../bin/vite.js');
const children = [
  [tsc, '--watch', '--preserveWatchOutput'],
  [vite, 'build', 'console', '--watch'],
  ['--watch', 'dist/src/main.js', ...process.argv.slice(2)],
].map((args) => spawn(process.execPath, args, { stdio: 'inherit' }));
for (const child of children) child.once('exit', () => children.forEach((other) => other.kill()));
