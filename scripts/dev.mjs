// Runs the service and compiles and starts it anew whenever a source changes.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';

await import('./build.mjs');
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const children = [
  [tsc, '--watch', '--preserveWatchOutput'],
  ['--watch', 'dist/src/main.js', ...process.argv.slice(2)],
].map((args) => spawn(process.execPath, args, { stdio: 'inherit' }));
for (const child of children) child.once('exit', () => children.forEach((other) => other.kill()));
