import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { processExists } from '../../src/platform/embedded-postgres/os-process';
import { openCluster, type Cluster } from '../../src/platform/embedded-postgres/postgres-cluster';
import { choosePort, endPostmaster, launchPostmaster } from '../../src/platform/embedded-postgres/postmaster';
import { eventually } from './eventually';
import { dataFolder } from './process';

/** A separate PostgreSQL server, which a test may kill, freeze, copy or replicate. */
export class PostgresServer {
  private pid = 0;

  private constructor(
    private readonly cluster: Cluster,
    readonly port: number,
    private readonly settings: Record<string, string>,
    private readonly remove: () => void,
  ) {}

  static async start(
    settings: Record<string, string> = {},
    files: Record<string, string> = {},
  ): Promise<PostgresServer> {
    const data = dataFolder();
    const cluster = await openCluster(data.path, () => undefined);
    for (const [name, content] of Object.entries(files)) own(cluster, name, content);
    const server = new PostgresServer(cluster, await choosePort(cluster), settings, () => data.remove());
    await server.launch();
    return server;
  }

  /** Creates a standby from a backup of this server. The standby follows this server until the standby is promoted. */
  async standby(name: string): Promise<PostgresServer> {
    const connection = new pg.Client({ connectionString: this.url('postgres') });
    await connection.connect();
    await connection.query(`SELECT pg_backup_start('${name}', true)`);
    const { cluster, remove } = this.copyFolder(name);
    const { rows } = await connection.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
    await connection.end();
    own(cluster, 'backup_label', rows[0].labelfile);
    own(cluster, 'standby.signal', '');
    const primary = `host=127.0.0.1 port=${this.port} user=postgres password=${this.secret} application_name=${name}`;
    own(cluster, 'postgresql.auto.conf', `primary_conninfo = '${primary}'\n`);
    return this.second(cluster, remove);
  }

  /** Creates a second server from a copy of this server's folder. This server is stopped while its folder is copied. */
  async coldCopy(name: string): Promise<PostgresServer> {
    await endPostmaster(this.pid);
    const { cluster, remove } = this.copyFolder(name);
    await this.launch();
    return this.second(cluster, remove);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get secret(): string {
    return this.cluster.secret;
  }

  url(database: string): string {
    return `postgres://postgres:${this.secret}@${this.address}/${database}`;
  }

  async query(text: string, database = 'postgres'): Promise<Record<string, any>[]> {
    const client = new pg.Client({ connectionString: this.url(database) });
    await client.connect();
    try {
      return (await client.query(text)).rows as Record<string, any>[];
    } finally {
      await client.end();
    }
  }

  async promote(): Promise<void> {
    await this.query('SELECT pg_promote(true)');
  }

  /** Makes this standby follow the given primary. */
  async follow(primary: PostgresServer): Promise<void> {
    const connection = `host=127.0.0.1 port=${primary.port} user=postgres password=${primary.secret}`;
    await this.query(`ALTER SYSTEM SET primary_conninfo = '${connection}'`);
    await this.query('SELECT pg_reload_conf()');
  }

  /** Kills all processes of the server at once, like a power failure. */
  kill(): void {
    this.signal('SIGKILL');
  }

  /**
   * Restarts the server after a kill. PostgreSQL does not start while the killed server process still exists, even as a
   * zombie.
   */
  async restart(): Promise<void> {
    await eventually(() => !processExists(this.pid));
    await this.launch();
  }

  /** Freezes the server, so that it sends no response, or lets it continue. */
  freeze(frozen: boolean): void {
    this.signal(frozen ? 'SIGSTOP' : 'SIGCONT');
  }

  async end(): Promise<void> {
    this.signal('SIGCONT');
    await endPostmaster(this.pid).catch(() => undefined);
    this.remove();
  }

  private signal(signal: NodeJS.Signals): void {
    for (const pid of [this.pid, ...childrenOf(this.pid)]) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  }

  private copyFolder(name: string): { cluster: Cluster; remove: () => void } {
    const logs = mkdtempSync(join(tmpdir(), 'eligibility-copy-'));
    const folder = join(this.cluster.folder, `../${name}-${process.pid}-${this.port}`);
    execFileSync('cp', ['-a', this.cluster.folder, folder]);
    rmSync(join(folder, 'postmaster.pid'), { force: true });
    rmSync(join(folder, 'postmaster.opts'), { force: true });
    const remove = () => [folder, logs].forEach((path) => rmSync(path, { recursive: true, force: true }));
    return { cluster: { ...this.cluster, folder, logFile: join(logs, 'postgres.log') }, remove };
  }

  private async second(cluster: Cluster, remove: () => void): Promise<PostgresServer> {
    const server = new PostgresServer(cluster, await choosePort(cluster), this.settings, remove);
    await server.launch();
    return server;
  }

  private async launch(): Promise<void> {
    const never = () => false;
    this.pid = (await launchPostmaster(this.cluster, this.port, this.settings, never)).pid;
    await eventually(() => this.query('SELECT 1'));
  }
}

function own({ folder }: Cluster, name: string, content: string): void {
  const file = join(folder, name);
  const { uid, gid } = statSync(folder);
  writeFileSync(file, content, { mode: 0o600 });
  chownSync(file, uid, gid);
}

function childrenOf(pid: number): number[] {
  const lines = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child);
}
