import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { Daemon, idsOf, until } from '../daemon.js';
import { POSTGRES_BIN } from '../debian.js';
import { freePort } from '../deployed.js';

const COMPOSE = join(__dirname, '../../../../deploy/compose');
const PATH = `${POSTGRES_BIN}:${process.env['PATH']}`;
const READY_MS = 60_000;

/** Debian's PostgreSQL, with the database and the role that the `postgres` image would create. */
export class DebianPostgres {
  private readonly daemon: Daemon;

  private constructor(
    name: string,
    private readonly folder: string,
    readonly port: number,
    private readonly password: string,
    command: readonly string[],
    private readonly env: Record<string, string>,
    input?: string,
  ) {
    this.daemon = new Daemon(name, command, { folder, user: 'postgres', env, input });
  }

  static async primary(folder: string, name: string, password: string, more: string[] = []): Promise<DebianPostgres> {
    const data = ownedByPostgres(folder, name);
    const secret = join(data, '../secret');
    writeFileSync(secret, password, { mode: 0o644 });
    const options = [
      '--username',
      'eligibility',
      '--pwfile',
      secret,
      '--auth',
      'scram-sha-256',
      '--encoding',
      'UTF8',
      '--locale',
      'C.UTF-8',
    ];
    execFileSync(`${POSTGRES_BIN}/initdb`, ['--pgdata', data, ...options], {
      stdio: ['ignore', 'ignore', 'inherit'],
      ...idsOf('postgres'),
    });
    const port = await freePort();
    const env = { PATH, PGDATA: data, PGHOST: '127.0.0.1', PGPORT: String(port), PGPASSWORD: password };
    const command = [`${POSTGRES_BIN}/postgres`, ...settings(port, more)];
    const server = new DebianPostgres(name, folder, port, password, command, env);
    await server.start();
    await server.query('CREATE DATABASE eligibility', 'postgres');
    return server;
  }

  /** Runs primary.sh, as the `postgres` image does after it has created the database's files. */
  async prepareForStandby(replicationPassword: string): Promise<void> {
    this.runOnce('primary.sh', { REPLICATION_PASSWORD: replicationPassword });
    await this.kill('SIGINT');
    await this.start();
  }

  /** Creates the database role of the service's processes, like deploy/compose/role.sh. */
  makeRole(servicePassword: string): void {
    this.runOnce('role.sh', { SERVICE_PASSWORD: servicePassword });
  }

  private runOnce(script: string, secret: Record<string, string>): void {
    const image = { POSTGRES_USER: 'eligibility', POSTGRES_DB: 'eligibility' };
    const env = { ...process.env, ...this.env, ...image, ...secret };
    execFileSync('/bin/sh', [join(COMPOSE, script)], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  }

  /** Starts a standby of PostgreSQL, like deploy/compose/standby.sh. */
  static async standby(folder: string, primary: DebianPostgres, password: string): Promise<DebianPostgres> {
    const data = ownedByPostgres(folder, 'standby');
    const port = await freePort();
    const env = {
      PATH,
      PGDATA: data,
      PRIMARY_HOST: '127.0.0.1',
      PRIMARY_PORT: String(primary.port),
      REPLICATION_PASSWORD: password,
    };
    const command = ['/bin/sh', '-s', '--', ...settings(port)];
    const script = readFileSync(join(COMPOSE, 'standby.sh'), 'utf8');
    const server = new DebianPostgres('standby', folder, port, primary.password, command, env, script);
    await server.start();
    return server;
  }

  get url(): string {
    return this.urlOf('eligibility');
  }

  urlOf(database: string): string {
    return `postgres://eligibility:${this.password}@127.0.0.1:${this.port}/${database}`;
  }

  /** Runs a program of PostgreSQL, such as pg_dump, on the database. */
  run(program: string, ...options: string[]): void {
    execFileSync(`${POSTGRES_BIN}/${program}`, ['--dbname', this.url, ...options], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }

  /** Runs a program of PostgreSQL in the background. */
  background(program: string, ...options: string[]): Daemon {
    const daemon = new Daemon(program, [`${POSTGRES_BIN}/${program}`, '--dbname', this.url, ...options], {
      folder: this.folder,
    });
    daemon.start();
    return daemon;
  }

  async query(text: string, database = 'eligibility'): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.urlOf(database) });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  kill(signal: NodeJS.Signals): Promise<void> {
    return this.daemon.kill(signal);
  }

  /**
   * Starts the server and waits until it answers. If the server exits before it answers, as it may do shortly after a
   * kill, it is started again.
   */
  async start(): Promise<void> {
    const answers = () => {
      this.daemon.start();
      return this.query('SELECT 1', 'postgres');
    };
    await until('PostgreSQL answers', answers, READY_MS);
  }
}

function settings(port: number, more: string[] = []): string[] {
  const own = ['max_connections=120', `port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
  return [...own, ...more].flatMap((one) => ['-c', one]);
}

function ownedByPostgres(folder: string, name: string): string {
  const { uid, gid } = statSync('/var/lib/postgresql');
  const outer = join(folder, name);
  const data = join(outer, 'data');
  mkdirSync(data, { recursive: true });
  for (const one of [outer, data]) chownSync(one, uid, gid);
  return data;
}
