// Follows a document as a newcomer would, from its first line to its last. Reports how long this takes, and where a
// newcomer would get stuck.
//
// usage: node scripts/walk.mjs [client|partner|operator|python|php|go|java …: all of them by default]
//
// 1. The walk runs in a copy of the repository, in the order of the document. The `sh` blocks of the document run in
//    one terminal. Blocks that are marked `sh in a … terminal` run in separate terminals, which are left running. A
//    `js` block is saved under the file name in its first line.
// 2. The walk corrects nothing: a failing line is a stumbling block and ends the walk. The walk also ends if it creates
//    a file that git does not ignore.
// 3. The reported minutes are the time that the machine needs, plus reading time (200 words a minute) and 10 seconds
//    for each copied block.
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort, withService } from './own-service.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const WORDS_A_MINUTE = 200;
const COPY_S = 10;
const PATIENCE_MS = 300_000;

/**
 * The walks by name. When a terminal is left running, the walk continues only after the terminal's port in `ports` is
 * open. `withDatabase` means that PostgreSQL is available before the walk, but the service is not. A walk whose
 * `program` is not installed is skipped. scripts/kits.mjs decides which languages must be installed.
 */
const WALKS = {
  client: {
    title: 'token → import → feed',
    document: 'docs/clients.md',
    section: 'From a token to the change feed',
  },
  partner: {
    title: 'nothing → verified',
    document: 'clients/partner/README.md',
    section: 'From nothing to verified',
    ports: { 'second terminal': 'PARTNER_PORT' },
  },
  operator: {
    title: 'install → first event',
    document: 'docs/install.md',
    section: 'From nothing to the first event',
    withDatabase: true,
    ports: { 'second terminal': 'PORT', 'third terminal': 'PARTNER_PORT' },
  },
  python: { ...kit('clients/python/README.md'), program: 'python3' },
  php: { ...kit('clients/php/README.md'), program: 'php' },
  go: { ...kit('clients/go/README.md'), program: 'go' },
  java: { ...kit('clients/java/README.md'), program: 'javac' },
};

function kit(document) {
  const ports = { 'second terminal': 'PARTNER_PORT' };
  return { title: 'nothing → verified', document, section: 'From nothing to verified', ports };
}

/** Returns the blocks of code in a section of the document, and the number of words around them. */
function read({ document, section }) {
  const [, text] = readFileSync(join(root, document), 'utf8').split(`\n## ${section}\n`);
  if (text === undefined) throw new Error(`${document} has no “${section}”.`);
  const [own] = text.split(/\n## /);
  const blocks = [...own.matchAll(/^```(sh|js)(?: in a (.+))?\n([^]*?)^```$/gm)].map(
    ([, language, terminal, code]) => ({
      ...{ language, terminal, code },
    }),
  );
  const words = own
    .replaceAll(/^```[^]*?^```$/gm, '')
    .split(/\s+/)
    .filter((word) => word !== '').length;
  return { blocks, words };
}

/** Copies the repository without build results. The `data` folder of the copy is the service's data folder. */
function copyTo(folder, withDependencies) {
  const { stdout } = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' });
  for (const file of stdout.split('\0').filter((name) => name !== '' && existsSync(join(root, name)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  // Git must ignore the files that the walk creates.
  for (const command of [
    ['init', '--quiet'],
    ['add', '--all'],
  ])
    if (spawnSync('git', command, { cwd: folder }).status !== 0) throw new Error(`git ${command[0]} fails.`);
  if (withDependencies) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
}

/**
 * Returns the files that the walk has created and that git does not ignore. `data` and the dependencies are omitted,
 * because they may be links in the copy.
 */
function seenByGit(folder) {
  const { status, stdout } = spawnSync('git', ['ls-files', '-o', '--exclude-standard'], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error('git does not say which files it would take.');
  return stdout
    .split('\n')
    .filter((file) => file !== '' && !/^(data|node_modules|\.walk-\d+\.sh|database\/.*)$/.test(file));
}

/** A terminal in which blocks of code are run one after another. */
class Terminal {
  output = '';

  constructor(folder, env, name) {
    this.folder = folder;
    this.name = name;
    this.child = spawn('sh', ['-eu'], { cwd: folder, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.output += text));
    this.ended = new Promise((done) => this.child.once('close', done));
  }

  /** Runs a block of code. @returns the terminal's working folder afterwards */
  async run(code, number) {
    const file = join(this.folder, `.walk-${number}.sh`);
    writeFileSync(file, code);
    const mark = `@@walk ${number} `;
    this.child.stdin.write(`. '${file}' </dev/null\nprintf '%s%s\\n' '${mark}' "$PWD"\n`);
    for (const until = Date.now() + PATIENCE_MS; ; await pause(20)) {
      const [, where] = this.output.split(mark);
      if (where?.includes('\n')) return where.split('\n')[0];
      if (this.child.exitCode !== null || Date.now() > until) throw new Error(this.output);
    }
  }

  async stop() {
    this.child.stdin.end();
    // The signal is sent to the process group, so that the programs in the terminal stop, too.
    if (this.child.exitCode === null) process.kill(-this.child.pid, 'SIGTERM');
    await this.ended;
  }
}

async function listens(port, terminal) {
  for (const until = Date.now() + PATIENCE_MS; ; await pause(50)) {
    const open = await new Promise((done) => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.once('connect', () => done(true)).once('error', () => done(false));
      socket.once('connect', () => socket.destroy());
    });
    if (open) return;
    if (terminal.child.exitCode !== null || Date.now() > until) throw new Error(terminal.output);
  }
}

const isInstalled = (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

/** Runs a walk. @returns whether the walk met no stumbling block */
async function walk(name, more, folder) {
  const { title, document, section, ports = {} } = WALKS[name];
  const { blocks, words } = read(WALKS[name]);
  const { PATH, HOME } = process.env;
  const env = {
    PATH,
    HOME,
    TMPDIR: tmpdir(),
    npm_config_update_notifier: 'false',
    npm_config_prefer_offline: 'true',
    ...more,
  };
  const first = new Terminal(folder, env, 'first terminal');
  const terminals = [first];
  console.log(`\n${name}: ${title} (${document}, “${section}”)`);
  let here = folder;
  let seconds = 0;
  let stumbled = null;
  for (const [index, { language, terminal, code }] of blocks.entries()) {
    const started = Date.now();
    const [line] = code.split('\n').filter((text) => !text.startsWith('#'));
    try {
      if (language === 'js') writeFileSync(join(here, /^\/\/ (\S+)/.exec(code)[1]), code);
      else if (terminal === undefined) here = await first.run(code, index);
      else {
        const other = new Terminal(folder, env, terminal);
        terminals.push(other);
        other.child.stdin.end(code);
        await listens(env[ports[terminal]], other);
      }
    } catch (error) {
      stumbled = `block ${index + 1} (${line}):\n${error.message}`;
    }
    const took = (Date.now() - started) / 1000;
    seconds += took;
    console.log(`  ${String(index + 1).padStart(2)}  ${took.toFixed(1).padStart(6)} s  ${line.slice(0, 90)}`);
    if (stumbled !== null) break;
  }
  for (const one of terminals.reverse()) await one.stop();
  const seen = seenByGit(folder);
  if (seen.length > 0) stumbled ??= `git would take ${seen.slice(0, 9).join(', ')}`;
  const reading = words / WORDS_A_MINUTE;
  const copying = (blocks.length * COPY_S) / 60;
  const all = seconds / 60 + reading + copying;
  console.log(
    `  ${all.toFixed(1)} minutes: machine ${(seconds / 60).toFixed(1)}, reading ${words} words ${reading.toFixed(1)}, copying ${blocks.length} blocks ${copying.toFixed(1)}`,
  );
  console.log(`  stumbling blocks: ${stumbled ?? 'none'}`);
  return stumbled === null;
}

async function take(name) {
  const { withDatabase = false, program } = WALKS[name];
  if (program !== undefined && !isInstalled(program)) {
    console.log(`\n${name}: NOT WALKED, ${program} is not installed`);
    return true;
  }
  const folder = mkdtempSync(join(tmpdir(), `eligibility-walk-${name}-`));
  const [port, partner] = [await freePort(), await freePort()];
  const partners = { PARTNER_PORT: partner, PARTNER: `https://localhost:${partner}` };
  try {
    copyTo(folder, !withDatabase);
    if (!withDatabase) {
      let good = false;
      await withService(async ({ base_url, folder: data }) => {
        symlinkSync(data, join(folder, 'data'));
        good = await walk(name, { BASE: base_url, ...partners }, folder);
      });
      return good;
    }
    const { startEmbeddedPostgres } = createRequire(import.meta.url)(
      join(root, 'dist/src/platform/embedded-postgres/embedded-postgres.js'),
    );
    const dataDir = join(folder, 'database');
    mkdirSync(dataDir);
    const database = await startEmbeddedPostgres({ dataDir, database: 'eligibility' });
    try {
      const settings = { DATABASE_URL: database.url, PORT: port, METRICS_PORT: '0', BASE: `http://localhost:${port}` };
      return await walk(name, { ...settings, ...partners }, folder);
    } finally {
      await database.stop();
      const cluster = join(dataDir, 'postgres');
      if (existsSync(cluster)) rmSync(realpathSync(cluster), { recursive: true, force: true });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const asked = process.argv.slice(2);
for (const name of asked.length > 0 ? asked : Object.keys(WALKS)) if (!(await take(name))) process.exitCode = 1;
