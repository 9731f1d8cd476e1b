// Runs the Dockerfile's steps manually as uid 1000 in a temporary folder, and then starts the systemd units of
// deploy/systemd there: `node scripts/shipped.mjs`. The script needs neither a container engine nor a running systemd.
// It must run as root on Debian, or as uid 1000. It fails in these cases:
//
// 1. A step of the Dockerfile fails, or needs a file that .dockerignore excludes.
// 2. `systemd-analyze` reports a problem in a unit.
// 3. The migration or the service does not start with the command line, the environment and the credentials of its
//    unit. The migration runs as the owner of the tables, and the service as the least-privilege role.
// 4. The image contains a package that is missing in the bill of materials.
// 5. The image's health check fails, or SIGTERM does not end the service with 0.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { contextFiles } from './image-context.mjs';

const UID = 1000;
const READY_MS = 120_000;
const ROLE = 'eligibility_service';
const UNITS = ['eligibility-migration.service', 'eligibility.service'];
/**
 * The highest exposure (0 to 100) that `systemd-analyze security` may report. A higher exposure means that a unit has
 * lost a protection.
 */
const EXPOSURE = 20;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'eligibility-shipped-'));
const isRoot = process.getuid() === 0;

/** Runs the command as uid 1000, without capabilities. */
const asUser = (...command) =>
  isRoot
    ? [
        'setpriv',
        `--reuid=${UID}`,
        `--regid=${UID}`,
        '--clear-groups',
        '--no-new-privs',
        '--bounding-set=-all',
        ...command,
      ]
    : command;

function own(path) {
  mkdirSync(path, { recursive: true });
  if (isRoot) chownSync(path, UID, UID);
  return path;
}

/** Returns the instructions of the Dockerfile, each with its name and the rest of its line. */
function instructions() {
  return readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => /^([A-Z]+) (.*)$/.exec(line).slice(1));
}

/**
 * Runs the steps of the Dockerfile.
 * @returns the folder of the last stage, and its command
 */
function buildByHand() {
  const context = contextFiles(root);
  const stages = {};
  let stage;
  for (const [name, rest] of instructions()) {
    const [command, ...words] = rest.split(' ');
    switch (name) {
      case 'FROM':
        stage = { folder: own(join(folder, words[1] ?? 'image')), env: {}, config: {} };
        stages[words[1] ?? 'image'] = stage;
        break;
      case 'WORKDIR':
        stage.at = own(join(stage.folder, rest));
        break;
      case 'ENV':
        for (const pair of rest.split(' ')) {
          const [variable, value] = pair.split('=');
          stage.env[variable] = value.startsWith('/') ? join(stage.folder, value) : value;
        }
        break;
      case 'COPY':
        copy(stage, command.startsWith('--from=') ? stages[command.slice(7)] : null, context, rest);
        break;
      case 'RUN':
        run(stage, rest);
        break;
      case 'CMD':
        stage.config.command = JSON.parse(rest);
        break;
      case 'HEALTHCHECK':
        stage.config.health = JSON.parse(rest.replace(/^.*?CMD /, ''));
        break;
      case 'USER':
        stage.config.user = rest;
        break;
      case 'ARG':
      case 'EXPOSE':
        break;
      default:
        throw new Error(`The Dockerfile has a step that is not known here: ${name}.`);
    }
  }
  if (stage.config.user !== 'node') throw new Error(`The image runs as ${stage.config.user ?? 'root'}.`);
  return stage;
}

function copy(stage, from, context, rest) {
  const paths = rest.split(' ').filter((word) => !word.startsWith('--'));
  const target = paths.pop();
  for (const path of paths) {
    if (from) {
      cpSync(join(from.folder, path), join(stage.at, target), { recursive: true, verbatimSymlinks: true });
      continue;
    }
    const files = path === '.' ? context : context.filter((file) => file === path);
    if (files.length === 0) throw new Error(`.dockerignore keeps ${path} away, which the Dockerfile copies.`);
    for (const file of files) {
      mkdirSync(dirname(join(stage.at, target, file)), { recursive: true });
      cpSync(join(root, file), join(stage.at, target, file));
    }
  }
  if (isRoot) execFileSync('chown', ['-R', `${UID}:${UID}`, stage.at]);
}

function run(stage, command) {
  console.log(`RUN ${command}`);
  const [program, ...rest] = asUser('sh', '-euc', command.replaceAll('node:node', `${UID}:${UID}`));
  const { PATH } = process.env;
  const npm = {
    npm_config_cache: npmCache(),
    npm_config_prefer_offline: 'true',
    npm_config_update_notifier: 'false',
  };
  const env = { PATH, HOME: own(join(folder, 'home')), ...npm, ...stage.env };
  const { status, stdout, stderr } = spawnSync(program, rest, { cwd: stage.at, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ended with ${status}:\n${stdout}${stderr}`);
}

/** Returns a copy of this user's npm cache for uid 1000, so that no package is downloaded a second time. */
function npmCache() {
  const cache = join(folder, 'npm');
  if (existsSync(cache)) return cache;
  const own = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim();
  if (existsSync(own)) cpSync(own, cache, { recursive: true, mode: constants.COPYFILE_FICLONE });
  else mkdirSync(cache);
  if (isRoot) execFileSync('chown', ['-R', `${UID}:${UID}`, cache]);
  return cache;
}

/** Returns the packages below the folder, each as name@version. */
function packagesIn(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((file) => /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(file))
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
    .map(({ name, version }) => `${name}@${version}`);
}

function compareBill(image) {
  execFileSync(process.execPath, [join(root, 'scripts/sbom.mjs')], { stdio: 'ignore' });
  const { components } = JSON.parse(readFileSync(join(root, 'dist/sbom.cdx.json'), 'utf8'));
  const listed = new Set(components.map((component) => component['bom-ref']));
  const held = packagesIn(image.at);
  const missing = held.filter((one) => !listed.has(one));
  if (held.length < 150 || missing.length > 0)
    throw new Error(`Of ${held.length} packages of the image, the bill of materials lacks ${missing.join(', ')}.`);
  console.log(`The bill of materials has all ${held.length} packages of the image.`);
}

/** Returns the settings in the `[Service]` section of a unit. Each setting has a list of values. */
function serviceOf(unit) {
  const members = {};
  for (const [, name, value] of unit.split('[Service]')[1].matchAll(/^([A-Z]\w+)=(.*)$/gm))
    (members[name] ??= []).push(value);
  return members;
}

function verifyUnits() {
  if (spawnSync('systemd-analyze', ['--version']).error)
    execFileSync('apt-get', ['install', '-qq', '--yes', '--no-install-recommends', 'systemd'], { stdio: 'ignore' });
  const copies = UNITS.map((name) => {
    const file = join(folder, name);
    // The path is replaced with the path of this Node, because systemd-analyze requires that the unit's program exists.
    const text = readFileSync(join(root, 'deploy/systemd', name), 'utf8');
    writeFileSync(file, text.replaceAll('/usr/bin/node', process.execPath));
    return file;
  });
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...copies], { encoding: 'utf8' });
  // Errors about other units are ignored.
  if (status !== 0 || /eligibility/.test(stderr)) throw new Error(`systemd-analyze verify: ${stderr}`);
  execFileSync('systemd-analyze', ['security', '--offline=yes', `--threshold=${EXPOSURE}`, ...copies], {
    stdio: 'ignore',
  });
}

/** Starts the program of a unit with the command line, the environment and the credentials that the unit declares. */
function start(name, image, { secrets, settings }) {
  const unit = serviceOf(readFileSync(join(root, 'deploy/systemd', name), 'utf8'));
  const credentials = own(join(folder, `credentials-${name}`));
  for (const [id, path] of unit['LoadCredential'].map((line) => line.split(':'))) {
    const file = join(credentials, id);
    writeFileSync(file, secrets[basename(path)], { mode: 0o400 });
    if (isRoot) chownSync(file, UID, UID);
  }
  const state = own(join(folder, 'state'));
  for (const directory of unit['StateDirectory'] ?? []) own(join(state, directory));
  const env = { PATH: process.env.PATH };
  for (const pair of unit['Environment'].flatMap((line) => line.split(' '))) {
    const [variable, value] = pair.split('=');
    env[variable] = value.replace('%d', credentials).replace('%S', state);
  }
  if (unit['EnvironmentFile']) Object.assign(env, settings);
  const [line] = unit['ExecStart'];
  const [program, ...rest] = asUser(...line.replace('/usr/bin/node', process.execPath).split(' '));
  const child = spawn(program, rest, { cwd: image.at, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const one = { child, env, said: '', ended: once(child, 'exit') };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (one.said += bytes));
  return one;
}

async function tryUnits(image, database) {
  const pg = createRequire(join(folder, 'build/app/package.json'))('pg');
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  await owner.query(`CREATE ROLE ${ROLE} LOGIN PASSWORD 'a-secret'`);
  await owner.end();
  const url = new URL(database.url);
  [url.username, url.password] = [ROLE, 'a-secret'];
  const given = {
    secrets: {
      'owner-url': `${database.url}\n`,
      'database-url': `${url.href}\n`,
      'secrets-key': `${Buffer.alloc(32, 7).toString('base64')}\n`,
    },
    settings: { PORT: '0', METRICS_PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'warn' },
  };
  const migration = start(UNITS[0], image, given);
  const [migrated] = await migration.ended;
  if (migrated !== 0) throw new Error(`The migration ended with ${migrated}: ${migration.said}`);
  const service = start(UNITS[1], image, given);
  try {
    const file = join(service.env.DATA_DIR, 'server.json');
    for (const until = Date.now() + READY_MS; !existsSync(file); await pause(50))
      if (service.child.exitCode !== null || Date.now() > until)
        throw new Error(`The service does not start: ${service.said}`);
    const { base_url: base, pid } = JSON.parse(readFileSync(file, 'utf8'));
    const uid = /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1];
    if (Number(uid) !== UID) throw new Error(`The service runs as ${uid}.`);
    const [program, ...rest] = image.config.health;
    const healthy = spawnSync(program, rest, { env: { ...service.env, PORT: new URL(base).port }, encoding: 'utf8' });
    if (healthy.status !== 0) throw new Error(`The health check ends with ${healthy.status}: ${healthy.stderr}`);
    service.child.kill('SIGTERM');
    const [code] = await service.ended;
    if (code !== 0) throw new Error(`The service ended with ${code}: ${service.said}`);
  } finally {
    service.child.kill('SIGKILL');
  }
}

try {
  chmodSync(folder, 0o755);
  verifyUnits();
  const image = buildByHand();
  compareBill(image);
  const line = serviceOf(readFileSync(join(root, 'deploy/systemd', UNITS[1]), 'utf8'))['ExecStart'][0];
  if (line.replace('/usr/bin/', '') !== image.config.command.join(' '))
    throw new Error(`The unit runs ${line}, and the image ${image.config.command.join(' ')}.`);
  if (readdirSync(image.at).sort().join() !== 'dist,node_modules,package.json')
    throw new Error(`The image holds ${readdirSync(image.at).join(', ')}.`);
  const { startEmbeddedPostgres } = createRequire(import.meta.url)(
    join(folder, 'build/app/dist/src/platform/embedded-postgres/embedded-postgres.js'),
  );
  const dataDir = own(join(folder, 'database'));
  const database = await startEmbeddedPostgres({ dataDir, database: 'eligibility' });
  try {
    await tryUnits(image, database);
  } finally {
    await database.stop();
    const cluster = join(dataDir, 'postgres');
    if (existsSync(cluster)) rmSync(realpathSync(cluster), { recursive: true, force: true });
  }
  console.log(`The Dockerfile's steps as uid ${UID}, and both units: built, migrated, ready, healthy, ended.`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
