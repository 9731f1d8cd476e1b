import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { stringify } from 'yaml';
import { Daemon, until } from '../daemon.js';
import { POSTGRES_BIN } from '../debian.js';
import type { Machine } from './network.js';
import { postmasterIn } from '../../support/postmaster.js';

export interface ClusterOptions {
  readonly folder: string;
  readonly password: string;
  /** Whether a commit waits for a standby. If so, Patroni promotes only a standby that has received every commit. */
  readonly synchronous: boolean;
}

/**
 * Patroni's default TTL of the primary's lease and its default retry timeout, in seconds. A primary that does not renew
 * its lease within the TTL is replaced.
 */
const [TTL_S, RETRY_TIMEOUT_S] = [30, 10];
const READY_MS = 240_000;

interface Member {
  name: string;
  role: string;
  state: string;
}

/** A machine with etcd, Patroni and the PostgreSQL that Patroni manages. */
export class DatabaseMachine {
  readonly etcd: Daemon;
  private readonly patroni: Daemon;
  private readonly data: string;
  private readonly etcdData = mkdtempSync('/dev/shm/failover-etcd-');

  constructor(
    readonly machine: Machine,
    all: readonly Machine[],
    private readonly options: ClusterOptions,
  ) {
    const folder = join(options.folder, machine.name);
    this.data = join(folder, 'data');
    mkdirSync(folder, { recursive: true });
    const { uid, gid } = postgresUser();
    chownSync(folder, uid, gid);
    this.etcd = new Daemon(
      `${machine.name}-etcd`,
      [...machine.prefix, '/usr/bin/etcd', ...etcdOptions(machine, all, this.etcdData)],
      {
        folder: options.folder,
      },
    );
    const file = join(folder, 'patroni.yml');
    writeFileSync(file, stringify(patroniConfig(machine, all, this.data, options)));
    // The command enters the network namespace as root, and then runs as the user `postgres`.
    const as = ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--init-groups'];
    this.patroni = new Daemon(`${machine.name}-patroni`, [...machine.prefix, ...as, '/usr/bin/patroni', file], {
      folder: options.folder,
      env: { PATH: `${POSTGRES_BIN}:${process.env['PATH']}`, HOME: folder },
    });
  }

  get name(): string {
    return this.machine.name;
  }

  start(): void {
    this.etcd.start();
    this.patroni.start();
  }

  remove(): void {
    rmSync(this.etcdData, { recursive: true, force: true });
  }

  /** Kills only PostgreSQL. Patroni detects the kill immediately. */
  killPostgres(): void {
    process.kill(postmasterIn(this.data), 'SIGKILL');
  }

  url(database: string): string {
    return `postgres://postgres:${this.options.password}@${this.machine.address}:5432/${database}`;
  }
}

/** A Patroni cluster with etcd, whose members are on separate machines. */
export class DatabaseCluster {
  readonly machines: readonly DatabaseMachine[];

  constructor(
    machines: readonly Machine[],
    private readonly options: ClusterOptions,
  ) {
    this.machines = machines.map((machine) => new DatabaseMachine(machine, machines, options));
  }

  async start(): Promise<void> {
    for (const machine of this.machines) machine.start();
    await this.healthy();
  }

  remove(): void {
    for (const machine of this.machines) machine.remove();
  }

  /**
   * Waits until the cluster has a primary and two followers. With synchronous replication, commits must also wait for
   * one of the followers.
   */
  async healthy(): Promise<void> {
    await until(
      'the cluster is whole',
      async () => {
        const members = await this.members();
        const followers = members.filter(({ role }) => role !== 'leader');
        if (members.length !== this.machines.length || followers.length !== this.machines.length - 1) return false;
        if (!members.every(({ state }) => ['running', 'streaming'].includes(state))) return false;
        if (this.options.synchronous && !followers.some(({ role }) => role === 'sync_standby')) return false;
        const { rows } = await ask(
          (await this.primary()).url('postgres'),
          "SELECT FROM pg_stat_replication WHERE state = 'streaming'",
        );
        return rows.length === followers.length;
      },
      READY_MS,
    );
  }

  async primary(): Promise<DatabaseMachine> {
    return this.named((await this.members()).find(({ role }) => role === 'leader')?.name);
  }

  /** Returns a synchronous standby, for which commits wait. Without synchronous replication, returns any follower. */
  async standby(): Promise<DatabaseMachine> {
    const members = await this.members();
    const role = this.options.synchronous ? 'sync_standby' : 'replica';
    return this.named(members.find((member) => member.role === role)?.name);
  }

  private named(name: string | undefined): DatabaseMachine {
    const machine = this.machines.find((one) => one.name === name);
    if (!machine) throw new Error(`The cluster has no member ${name ?? 'of that role'} now.`);
    return machine;
  }

  private async members(): Promise<Member[]> {
    const asked = this.machines.map(async ({ machine }) => {
      const answer = await fetch(`http://${machine.address}:8008/cluster`, { signal: AbortSignal.timeout(2_000) });
      return ((await answer.json()) as { members: Member[] }).members;
    });
    return Promise.any(asked);
  }
}

export async function ask(url: string, text: string): Promise<pg.QueryResult<Record<string, unknown>>> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await client.query<Record<string, unknown>>(text);
  } finally {
    await client.end();
  }
}

function postgresUser(): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

function etcdOptions({ name, address }: Machine, all: readonly Machine[], data: string): string[] {
  const [clients, peers] = [`http://${address}:2379`, `http://${address}:2380`];
  const options = {
    name,
    // Each member has its own data folder, like the disk of a separate machine.
    'data-dir': data,
    'listen-client-urls': clients,
    'advertise-client-urls': clients,
    'listen-peer-urls': peers,
    'initial-advertise-peer-urls': peers,
    'initial-cluster': all.map((one) => `${one.name}=http://${one.address}:2380`).join(),
    // A member of etcd that returns from a network partition must not force the election of a new leader. Otherwise,
    // Patroni would be without etcd a second time.
    'pre-vote': 'true',
    // The timeouts are long, because several simulated machines share the processors of one real machine.
    'heartbeat-interval': '300',
    'election-timeout': '3000',
    'log-level': 'warn',
  };
  return Object.entries(options).map(([option, value]) => `--${option}=${value}`);
}

function patroniConfig(
  { name, address }: Machine,
  all: readonly Machine[],
  data: string,
  { password, synchronous }: ClusterOptions,
): object {
  return {
    scope: 'eligibility',
    name,
    restapi: { listen: `${address}:8008`, connect_address: `${address}:8008` },
    etcd3: { hosts: all.map((one) => `${one.address}:2379`) },
    bootstrap: {
      dcs: {
        ttl: TTL_S,
        loop_wait: 1,
        retry_timeout: RETRY_TIMEOUT_S,
        synchronous_mode: synchronous,
        // With `primary_start_timeout: 0`, Patroni replaces a killed primary immediately, without first trying to
        // restart it.
        primary_start_timeout: 0,
        postgresql: {
          use_pg_rewind: true,
          parameters: { max_connections: 200, shared_buffers: '64MB', wal_keep_size: '512MB', wal_log_hints: 'on' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    },
    postgresql: {
      listen: `${address}:5432`,
      connect_address: `${address}:5432`,
      data_dir: data,
      bin_dir: POSTGRES_BIN,
      pgpass: join(data, '../pgpass'),
      authentication: {
        superuser: { username: 'postgres', password },
        replication: { username: 'replicator', password },
      },
      parameters: { unix_socket_directories: '', password_encryption: 'scram-sha-256' },
      pg_hba: ['host replication replicator 0.0.0.0/0 scram-sha-256', 'host all all 0.0.0.0/0 scram-sha-256'],
    },
  };
}

/** Observes a standby over a connection that was opened before the failure, and records when the standby takes over. */
export class PromotionWatch {
  at: number | null = null;
  private readonly clients: pg.Client[] = [];
  private readonly timers: NodeJS.Timeout[] = [];

  static async over(machines: readonly DatabaseMachine[]): Promise<PromotionWatch> {
    const watch = new PromotionWatch();
    for (const machine of machines) await watch.add(machine);
    return watch;
  }

  private async add(machine: DatabaseMachine): Promise<void> {
    const client = new pg.Client({ connectionString: machine.url('postgres') });
    client.on('error', () => undefined);
    await client.connect();
    this.clients.push(client);
    let asking = false;
    const look = async (): Promise<void> => {
      if (asking || this.at !== null) return;
      asking = true;
      const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
      asking = false;
      if (!rows[0].standby) this.at ??= Date.now();
    };
    // An error of this query is ignored, because it means that the standby has closed the connection.
    this.timers.push(setInterval(() => void look().catch(() => undefined), 20));
  }

  async end(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    for (const client of this.clients) await client.end().catch(() => undefined);
  }
}
