/**
 * Runs a PostgreSQL server on loopback, from the binaries that npm installs, with its files in the service's data
 * folder.
 *
 * 1. Open or create the database cluster in `<dataDir>/postgres`. If this process runs as root, the server runs as
 *    another user. When that user may not enter the data folder, the cluster is in /var/lib, and `<dataDir>/postgres`
 *    is a link to it.
 * 2. Read `postmaster.pid`. A running postmaster that accepts our secret is adopted; otherwise a new postmaster is
 *    launched. No further lock is needed: PostgreSQL lets only one of several processes launch the server, and the
 *    other processes adopt that server.
 * 3. Hold a *keeper* session with a shared advisory lock, which means "a process uses this server".
 * 4. The server is detached, and no exit hook of this process stops it. The server therefore survives this process, and
 *    the next start of the service adopts it.
 * 5. When the keeper's connection or the postmaster dies, repeat the steps from 2 on, with the same port, so that `url`
 *    stays valid. If the restart fails, or if too many restarts are needed, call `onLost`.
 * 6. To stop, exchange the shared lock for the exclusive lock. If this process gets the exclusive lock, no other
 *    process uses the server, and this process shuts the server down. Otherwise the server is left to the processes
 *    that hold the shared lock.
 *
 * Never remove `postmaster.pid` while a postmaster of the cluster may live. Never share a data folder between machines
 * or containers: processes that cannot see each other's pids would run two servers on the same files.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { openCluster, type Cluster } from './postgres-cluster.js';
import {
  boundLog,
  choosePort,
  endPostmaster,
  findPostmaster,
  isPostmasterOf,
  launchPostmaster,
  NotYetError,
  type Postmaster,
} from './postmaster.js';
import { isAlive } from './os-process.js';

export interface EmbeddedPostgres {
  /** The URL of the database: `postgres://postgres:<secret>@127.0.0.1:<port>/<database>`. */
  readonly url: string;
  readonly dataDir: string;
  /** Whether a server that was already running was adopted, for example the server of a process that was killed. */
  readonly adopted: boolean;
  /**
   * Ends the supervision of the server, and shuts the server down (fast shutdown) unless another process uses it.
   * Resolves when the server has exited.
   */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** The data folder of the service. The database cluster is in `<dataDir>/postgres`. */
  dataDir: string;
  /** The name of the database, which is created if it is missing. */
  database: string;
  /** Additional settings of PostgreSQL. They have no effect on a server that is adopted while running. */
  settings?: Record<string, string>;
  log?: (message: string) => void;
  /** Called once if the embedded PostgreSQL server has died and could not be restarted. */
  onLost?: (error: Error) => void;
}

/**
 * The key of the advisory lock that every process using the server holds. All versions of the service must use the same
 * key.
 */
const USERS_LOCK = 7_042_318;
const CHECK_EVERY_MS = 500;
const LAUNCH_PATIENCE_MS = 10_000;
/**
 * The maximum time, in milliseconds, for which this process waits until a crashed server has recovered, or until
 * another process has stopped it.
 */
const STATE_CHANGE_PATIENCE_MS = 60_000;
const RESTARTS_A_MINUTE = 10;
const RESTART_TRIES = 3;

/**
 * Starts the PostgreSQL server of the data folder, or adopts it if it is running. Rejects with the reason if neither is
 * possible.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(options.dataDir, options.log ?? (() => {}));
  const server = new SupervisedPostgres(cluster, options);
  await server.start();
  return server;
}

/** The keeper connection, with two functions that the types of `pg` lack. */
type Keeper = Client & { ref(): void; unref(): void };

class SupervisedPostgres implements EmbeddedPostgres {
  adopted = false;
  private postmaster?: Postmaster;
  private keeper?: Keeper;
  private timer?: NodeJS.Timeout;
  private recovering?: Promise<void>;
  private stopping?: Promise<void>;
  private deaths: number[] = [];

  constructor(
    private readonly cluster: Cluster,
    private readonly options: EmbeddedPostgresOptions,
  ) {}

  get url(): string {
    return this.urlOf(this.options.database);
  }

  get dataDir(): string {
    return this.cluster.dataDir;
  }

  async start(): Promise<void> {
    await this.bringUp();
    this.adopted = this.postmaster?.child === undefined;
    this.timer = setInterval(() => this.check(), CHECK_EVERY_MS).unref();
  }

  stop(): Promise<void> {
    return (this.stopping ??= this.shutDown());
  }

  /** Retries until the postmaster (the server's main process) runs and the keeper connection is open. */
  private async bringUp(): Promise<void> {
    const port = this.postmaster?.port;
    for (const begun = Date.now(); ; await sleep(25)) {
      const running = findPostmaster(this.cluster);
      try {
        await this.use(running ?? (await this.launch(port)), port);
        return;
      } catch (error) {
        const patience = running ? STATE_CHANGE_PATIENCE_MS : LAUNCH_PATIENCE_MS;
        if (!(error instanceof NotYetError) || this.stopping || Date.now() - begun > patience) throw error;
      }
    }
  }

  private async launch(port: number | undefined): Promise<Postmaster> {
    const { settings = {}, log } = this.options;
    const isAbandoned = () => this.stopping !== undefined;
    const launched = await launchPostmaster(
      this.cluster,
      port ?? (await choosePort(this.cluster)),
      settings,
      isAbandoned,
    );
    launched.child?.once('exit', () => this.check());
    log?.(`PostgreSQL runs on 127.0.0.1:${launched.port} (pid ${launched.pid})`);
    return launched;
  }

  private async use(postmaster: Postmaster, promisedPort = postmaster.port): Promise<void> {
    if (postmaster.port !== promisedPort) throw new Error(`PostgreSQL has moved to port ${postmaster.port}`);
    const keeper = await hireKeeper(this.urlOf('postgres', postmaster.port), this.options.database);
    keeper.once('end', () => {
      if (this.keeper === keeper) this.keeper = undefined;
      this.check();
    });
    this.keeper = keeper;
    this.postmaster = postmaster;
  }

  private check(): void {
    if (this.stopping || this.recovering || !this.timer) return;
    boundLog(this.cluster.logFile);
    if (this.keeper && this.hasPostmaster()) return;
    this.recovering = this.recover().finally(() => (this.recovering = undefined));
  }

  private async recover(): Promise<void> {
    let failure: unknown = new Error(`PostgreSQL died more than ${RESTARTS_A_MINUTE} times within a minute`);
    let triesLeft = this.hasPostmaster() || this.mayRestartAgain() ? RESTART_TRIES : 0;
    for (; triesLeft > 0; triesLeft--) {
      this.options.log?.('the connection to PostgreSQL was lost');
      try {
        return await this.bringUp();
      } catch (error) {
        if (this.stopping) return;
        failure = error;
        // An attempt that fails only after a long wait is not repeated.
        if (error instanceof NotYetError) break;
      }
      await sleep(CHECK_EVERY_MS);
    }
    // A running server that refuses only this process's keeper connection still serves other processes. The next check
    // retries.
    if (this.hasPostmaster()) return;
    clearInterval(this.timer);
    this.timer = undefined;
    this.options.onLost?.(failure as Error);
  }

  private hasPostmaster(): boolean {
    return this.postmaster !== undefined && isAlive(this.postmaster.pid);
  }

  private mayRestartAgain(): boolean {
    const now = Date.now();
    this.deaths = [...this.deaths.filter((time) => now - time < 60_000), now];
    return this.deaths.length <= RESTARTS_A_MINUTE;
  }

  private async shutDown(): Promise<void> {
    clearInterval(this.timer);
    await this.recovering;
    // From here on the keeper connection keeps the process alive. Otherwise, a process that has nothing else to do would
    // exit before the answers of the server arrive.
    this.keeper?.ref();
    if (this.keeper && !(await isLastUser(this.keeper))) {
      this.options.log?.('PostgreSQL is left running: another process uses it');
      return this.keeper.end();
    }
    const pid = findPostmaster(this.cluster)?.pid ?? this.postmaster?.pid;
    if (pid && isPostmasterOf(this.cluster.folder, pid)) await endPostmaster(pid);
  }

  private urlOf(database: string, port = this.postmaster?.port): string {
    return `postgres://postgres:${this.cluster.secret}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
  }
}

/**
 * Opens the keeper connection. Only the server of this data folder accepts the secret, and proves by SCRAM that it has
 * the secret. No foreign server is therefore adopted.
 */
async function hireKeeper(url: string, database: string): Promise<Keeper> {
  const keeper = new Client({
    connectionString: url,
    application_name: 'embedded-postgres keeper',
    connectionTimeoutMillis: 5_000,
    query_timeout: 15_000,
  }) as Keeper;
  // The error listener of the keeper connection does nothing, because the `end` handler deals with a lost connection.
  keeper.on('error', () => {});
  try {
    await keeper.connect();
    // If another process is shutting the server down, the statement for the shared lock waits, and fails when the
    // server exits.
    await keeper.query('SELECT pg_advisory_lock_shared($1)', [USERS_LOCK]);
    await createDatabase(keeper, database);
  } catch (error) {
    keeper.end().catch(() => {});
    throw isPassing(error) ? new NotYetError((error as Error).message, { cause: error }) : error;
  }
  // The keeper connection must not keep an otherwise idle process alive.
  keeper.unref();
  return keeper;
}

async function createDatabase(keeper: Client, database: string): Promise<void> {
  const { rowCount } = await keeper.query('SELECT FROM pg_database WHERE datname = $1', [database]);
  if (rowCount) return;
  try {
    await keeper.query(`CREATE DATABASE ${keeper.escapeIdentifier(database)}`);
  } catch (error) {
    // The errors 42P04 and 23505 mean that another process, which started at the same moment, has created the database.
    if (!(error instanceof DatabaseError && ['42P04', '23505'].includes(error.code ?? ''))) throw error;
  }
}

/** Returns whether no other process uses the server. A server that no longer responds counts as unused. */
async function isLastUser(keeper: Client): Promise<boolean> {
  try {
    await keeper.query('SELECT pg_advisory_unlock_shared($1)', [USERS_LOCK]);
    const { rows } = await keeper.query<{ granted: boolean }>('SELECT pg_try_advisory_lock($1) AS granted', [
      USERS_LOCK,
    ]);
    return rows[0].granted;
  } catch {
    return true;
  }
}

/**
 * Returns whether the error is temporary: a connection problem, or an error in one of the SQLSTATE classes 08
 * (connection), 53 (resources), 55 (object in use) and 57 (operator intervention).
 */
function isPassing(error: unknown): boolean {
  return !(error instanceof DatabaseError) || ['08', '53', '55', '57'].includes(error.code?.slice(0, 2) ?? '');
}
