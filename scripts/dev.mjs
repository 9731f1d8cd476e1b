// Runs the service, and restarts it whenever a source changes. SWC compiles changes within a second. tsc checks the
// types in parallel at low priority, and a type error does not stop the service.
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync, watch, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';
import { buildConsole } from './build-console.mjs';
import './client-types.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { resolve } = createRequire(import.meta.url);
const swc = {
  cwd: root,
  swcrc: false,
  sourceMaps: true,
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2022',
    keepClassNames: true,
  },
  // `import()` must stay in the output, because it loads ES modules.
  module: { type: 'commonjs', ignoreDynamic: true },
};

/** Compiles only the sources that are newer than their compiled files, so that the service restarts quickly. */
async function compile() {
  const names = readdirSync(join(root, 'src'), { recursive: true }).map((name) => `src/${name}`);
  await Promise.all(
    [...names, 'ormconfig.ts', 'package.json'].map(async (name) => {
      if (!/\.(ts|cjs|json)$/.test(name) || name.endsWith('.spec.ts')) return;
      const [source, target] = [join(root, name), join(root, 'dist', name.replace(/\.ts$/, '.js'))];
      if (existsSync(target) && statSync(target).mtimeMs > statSync(source).mtimeMs) return;
      mkdirSync(dirname(target), { recursive: true });
      if (!name.endsWith('.ts')) return copyFileSync(source, target);
      const { code, map } = await transformFile(source, swc);
      writeFileSync(`${target}.map`, map);
      writeFileSync(target, `${code}\n//# sourceMappingURL=${target.split('/').at(-1)}.map\n`);
    }),
  );
}

async function buildGuideOnce() {
  if (existsSync(join(root, 'dist/guide'))) return;
  const { buildGuide } = await import('../site/build.mjs');
  await buildGuide(join(root, 'dist/guide'));
}

await Promise.all([compile(), buildConsole(), buildGuideOnce()]);
let changed;
for (const name of ['src', 'ormconfig.ts'])
  watch(join(root, name), { recursive: name === 'src' }, () => {
    clearTimeout(changed);
    // The compiler waits briefly, because an editor may save a file in several steps.
    changed = setTimeout(() => compile().catch(({ message }) => process.stderr.write(`${message}\n`)), 100);
  });

const vite = join(resolve('vite/package.json'), '../bin/vite.js');
const start = (...args) => spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
const service = start('--watch', '--watch-preserve-output', 'dist/src/main.js', ...process.argv.slice(2));
const beside = [
  start(vite, 'build', 'console', '--watch'),
  start(resolve('typescript/bin/tsc'), '--noEmit', '--watch', '--preserveWatchOutput'),
];
for (const { pid } of beside) setPriority(pid, constants.priority.PRIORITY_LOW);
const children = [service, ...beside];
for (const child of children)
  child.once('exit', () => {
    for (const other of children) other.kill();
    process.exit();
  });
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    for (const child of children) child.kill(signal);
  });
