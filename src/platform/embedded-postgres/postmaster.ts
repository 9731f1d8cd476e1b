import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, copyFileSync, fstatSync, openSync, readSync, renameSync, statSync, truncateSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findBinaries } from './postgres-binaries.js';
import type { Cluster } from './postgres-cluster.js';
import { commandLine, isAlive, linuxProcess, processExists, readIfThere } from './os-process.js';
import { runAs } from './postgres-user.js';

/** The main process of a PostgreSQL server. The server ends when this process dies. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** The main process of the server as a child process, if this process has started it. */
  readonly child?: ChildProcess;
}

/** Thrown if the PostgreSQL server is not available at the moment, but may become available later. */
export class NotYetError extends Error {}

const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
const READY_WITHIN_MS = 60_000;
const PASSING_FAILURE =
  /pre-existing shared memory block|could not bind|could not create any TCP|lock file .* (already exists|is empty)/;

/**
 * The default settings of the server. As a value of `log_min_messages`, `log` ranks above `error`. With this value, the
 * server does not log the errors of clients, which quote data.
 */
const DEFAULT_SETTINGS = {
  max_connections: '200',
  fsync: 'on',
  synchronous_commit: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
};

/** Finds the running postmaster of the cluster. A stale `postmaster.pid` that would prevent a start is renamed. */
export function findPostmaster({ folder }: Cluster): Postmaster | undefined {
  const file = join(folder, 'postmaster.pid');
  const lines = readPidFile(folder);
  if (!lines) return undefined;
  const pid = Number(lines[0]);
  if (pid > 0 && isPostmasterOf(folder, pid)) return { pid, port: Number(lines[3]) };
  // PostgreSQL itself handles a file with the pid of a dead process. If a zombie or a different program has that pid,
  // PostgreSQL mistakes that process for a running server.
  const blocksStart = lines[0] === '' ? isOlderThan(file, 2_000) : pid > 0 && processExists(pid);
  if (blocksStart && readPidFile(folder)?.[0] === lines[0]) renameSync(file, `${file}.stale`);
  return undefined;
}

/**
 * Starts a PostgreSQL server, and waits until it accepts connections. The server is detached, so that Ctrl-C does not
 * stop the server while this process finishes its last requests.
 */
export async function launchPostmaster(
  cluster: Cluster,
  port: number,
  settings: Record<string, string>,
  isAbandoned: () => boolean,
): Promise<Postmaster> {
  const { postgres } = await findBinaries(cluster.user, cluster.dataDir, cluster.major);
  boundLog(cluster.logFile);
  const fixed = { port: String(port), listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const options = Object.entries({ ...DEFAULT_SETTINGS, ...settings, ...fixed });
  const log = openSync(cluster.logFile, 'a+', 0o600);
  try {
    const logStart = fstatSync(log).size;
    const child = spawn(
      postgres,
      ['-D', cluster.folder, ...options.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      {
        ...runAs(cluster.user),
        cwd: cluster.folder,
        detached: true,
        stdio: ['ignore', log, log],
      },
    );
    child.unref();
    const pid = child.pid;
    if (pid === undefined) throw (await once(child, 'error'))[0];
    for (const deadline = Date.now() + READY_WITHIN_MS; child.exitCode === null && !child.signalCode; await sleep(5)) {
      const lines = readPidFile(cluster.folder);
      if (Number(lines?.[0]) === pid && lines?.[7]?.startsWith('ready')) return { pid, port, child };
      if (isAbandoned() || Date.now() > deadline) {
        await endPostmaster(pid);
        throw new Error('PostgreSQL was not ready in time');
      }
    }
    throw launchFailure(log, logStart);
  } finally {
    closeSync(log);
  }
}

/**
 * Shuts the PostgreSQL server down: fast at first, and by force if that takes too long. Resolves when the main process
 * of the server has exited.
 */
export async function endPostmaster(pid: number): Promise<void> {
  const steps = [
    { name: 'SIGINT', waitMs: 5_000 },
    // SIGQUIT is the immediate shutdown: after five seconds, the postmaster kills all children that still run. The next
    // start recovers the data.
    { name: 'SIGQUIT', waitMs: 6_000 },
    { name: 'SIGKILL', waitMs: 2_000 },
  ] as const;
  for (const { name, waitMs } of steps) {
    sendSignal(pid, name);
    for (const deadline = Date.now() + waitMs; Date.now() < deadline; await sleep(5)) {
      if (!isAlive(pid)) return;
    }
  }
  throw new Error(`PostgreSQL (pid ${pid}) cannot be stopped`);
}

/** Returns the port that the server last used or, if that port is taken, any free port. */
export async function choosePort({ folder }: Cluster): Promise<number> {
  const lastPort = Number(/"port=(\d+)"/.exec(readIfThere(join(folder, 'postmaster.opts')) ?? '')?.[1]);
  if (lastPort && (await isFree(lastPort))) return lastPort;
  for (;;) {
    // PostgreSQL gets a port below the range of ephemeral ports. Otherwise, an outgoing connection could take the port
    // while the server restarts.
    const port = 15_000 + Math.floor(Math.random() * 17_000);
    if (await isFree(port)) return port;
  }
}

/**
 * Copies a log file that has grown too large, and truncates the original. The server can continue to write, because it
 * has opened the file for appending.
 */
export function boundLog(logFile: string): void {
  if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) <= LOG_LIMIT_BYTES) return;
  copyFileSync(logFile, `${logFile}.1`);
  truncateSync(logFile);
}

/** Returns whether the process is the running main process (postmaster) of the cluster in this folder. */
export function isPostmasterOf(folder: string, pid: number): boolean {
  if (!isAlive(pid)) return false;
  if (process.platform === 'win32') return true;
  if (process.platform !== 'linux') return commandLine(pid).includes(folder);
  if (linuxProcess(pid).name !== 'postgres') return false;
  try {
    // The device and the inode of the folders are compared rather than their paths, because the folder may have been
    // moved, or may have several paths.
    const [workingFolder, wanted] = [statSync(`/proc/${pid}/cwd`), statSync(folder)];
    return workingFolder.dev === wanted.dev && workingFolder.ino === wanted.ino;
  } catch {
    // If `/proc/<pid>/cwd` is unreadable, the process belongs to a different user, or root may not inspect it in this
    // container.
    return (readIfThere(`/proc/${pid}/cmdline`) ?? '').split('\0').includes(folder);
  }
}

function sendSignal(pid: number, signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Reads the lines of `postmaster.pid`: line 1 is the pid, line 4 the port, line 8 the state (`starting`, `ready`,
 * `stopping`).
 */
function readPidFile(folder: string): string[] | undefined {
  return readIfThere(join(folder, 'postmaster.pid'))?.split('\n');
}

function isOlderThan(file: string, ms: number): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs > ms;
}

function launchFailure(log: number, logStart: number): Error {
  const text = Buffer.alloc(16_384);
  const length = readSync(log, text, 0, text.length, logStart);
  const said = text.toString('utf8', 0, length);
  const reason = said.split('\n').find((line) => /FATAL|PANIC/.test(line)) ?? said.trim().split('\n').at(-1);
  const message = `PostgreSQL did not start: ${reason}`;
  return PASSING_FAILURE.test(said) ? new NotYetError(message) : new Error(message);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1' }, () => probe.close(() => resolve(true)));
  });
}
