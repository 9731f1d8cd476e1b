// Runs a program of the compiled service, compiling first when a source is newer than the last build.
// usage: node scripts/start.mjs [main|admin|demo|bench|chaos|openapi] [arguments]
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const programs = {
  main: 'dist/src/main.js',
  admin: 'dist/src/admin.js',
  openapi: 'dist/src/write-openapi.js',
  demo: 'dist/demo/demo.js',
  bench: 'dist/bench/bench.js',
  chaos: 'dist/bench/chaos.js',
};

function newest(path) {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function buildWhenStale() {
  const marker = join(root, 'dist/.built');
  const sources = ['src', 'bench', 'demo', 'test/support', 'ormconfig.ts', 'tsconfig.json', 'package-lock.json'];
  const built = statSync(marker, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  // An image ships dist without the sources' compiler.
  if (!existsSync(join(root, 'src')) || built > Math.max(...sources.map((source) => newest(join(root, source)))))
    return;
  process.stderr.write('Compiling …\n');
  const started = new Date();
  const cli = require.resolve('@nestjs/cli/bin/nest.js');
  const { status } = spawnSync(process.execPath, [cli, 'build'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(marker, '');
  utimesSync(marker, started, started);
}

const [name, ...rest] = process.argv.slice(2);
const program = name in programs ? name : 'main';
buildWhenStale();
process.argv = [process.argv[0], join(root, programs[program]), ...(program === name ? rest : process.argv.slice(2))];
require(process.argv[1]);
