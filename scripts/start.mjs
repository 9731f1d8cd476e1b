// Runs a program of the compiled service. If a source is newer than the last build, the service is compiled first.
// usage: node scripts/start.mjs [main|admin|import|migrate|openapi|demo|partner|bench|cells|mutants|results|chaos|flips|omissions|harms|failover|drill|rolling|model|simulate|conformance|typeorm] [arguments]
import './installed.mjs';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const programs = {
  main: 'dist/main.js',
  admin: 'dist/src/admin.js',
  import: 'dist/src/import-file.js',
  migrate: 'dist/src/migrate-database.js',
  openapi: 'dist/src/write-openapi.js',
  demo: 'dist/demo/demo.js',
  partner: 'dist/demo/partner.js',
  bench: 'dist/bench/bench.js',
  cells: 'dist/test/proof/cells.js',
  chaos: 'dist/test/proof/chaos/chaos.js',
  flips: 'dist/test/proof/chaos/flips.js',
  omissions: 'dist/test/proof/omissions.js',
  harms: 'dist/test/proof/harms/harms.js',
  failover: 'dist/test/proof/failover/failover.js',
  drill: 'dist/test/proof/drill/drill.js',
  rolling: 'dist/test/proof/rolling/rolling.js',
  model: 'dist/test/proof/model/check.js',
  simulate: 'dist/test/proof/simulation/simulate.js',
  mutants: 'dist/test/proof/specification/mutants.js',
  results: 'dist/test/proof/results/results.js',
  conformance: 'dist/clients/partner/src/conformance/program.js',
  'typescript-partner': 'dist/clients/partner/src/program.js',
  // TypeORM's own command line, which runs migrations.
  typeorm: 'node_modules/typeorm/cli.js',
};

function newest(path) {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  // The results of benchmarks and the built client packages are skipped, because they are not sources.
  const names = readdirSync(path).filter((name) => name !== 'dist' && (name !== 'results' || path.endsWith('src')));
  return Math.max(0, ...names.map((name) => newest(join(path, name))));
}

const marker = join(root, 'dist/.built');
const sources = [
  'src',
  'console',
  'bench',
  'demo',
  'clients',
  'test/support',
  'test/proof',
  'ormconfig.ts',
  'tsconfig.json',
  'nest-cli.json',
  'scripts/build.mjs',
  'scripts/build-console.mjs',
  'scripts/bundle.mjs',
  'scripts/client-types.mjs',
  'package-lock.json',
];

function isStale() {
  // An image contains no sources, so that dist cannot be outdated in an image.
  if (!existsSync(join(root, 'src'))) return false;
  const built = statSync(marker, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return built <= Math.max(...sources.map((source) => newest(join(root, source))));
}

async function buildWhenStale() {
  if (!isStale()) return;
  // The build first empties dist. If several programs start at the same time, one program compiles and the others wait.
  const unlock = lock(join(root, 'node_modules/.compiling'));
  try {
    if (isStale()) await build();
  } finally {
    unlock();
  }
}

async function build() {
  process.stderr.write('Compiling …\n');
  await import('./build.mjs');
}

/** Waits until this process alone holds the lock. A lock of a process that no longer exists is ignored. */
function lock(file) {
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isHeld(file)) rmSync(file, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
}

function isHeld(file) {
  try {
    const pid = readFileSync(file, 'utf8');
    // If the lock file is new and still empty, another process has created it, but has not yet written its process id.
    if (pid === '') return Date.now() - statSync(file).mtimeMs < 1000;
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

const [name, ...rest] = process.argv.slice(2);
const program = name in programs ? name : 'main';
try {
  await buildWhenStale();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
// When npm is stopped, it ends only the shell that is between npm and this process. The shell does not pass signals on.
// This process therefore checks regularly whether the shell has ended.
if (process.env.npm_lifecycle_event && process.platform !== 'win32') {
  const { ppid } = process;
  const watch = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 500).unref();
}
process.argv = [process.argv[0], join(root, programs[program]), ...(program === name ? rest : process.argv.slice(2))];
require(process.argv[1]);
