import pg from 'pg';
import type { ConnectionOptions } from 'node:tls';
import { parseDatabaseUrl, type DatabaseAddress, type DatabaseHost, type SslMode } from './database-url.js';

/** The time, in milliseconds, within which a server must accept a connection and report whether it is writable. */
const PROBE_MS = 2_000;

/** The SQL condition that the server is read-only: it is a standby, or its `transaction_read_only` setting is on. */
export const READ_ONLY = `(pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean)`;

/** Returns the error for a read-only server, with PostgreSQL's code for read_only_sql_transaction. */
export function readOnlyServer(): Error {
  return Object.assign(new Error('The database is read-only.'), { code: '25006' });
}

/** A server's host and port. `ssl` contains the TLS options; it is false for connections without TLS. */
export interface DatabaseServer extends DatabaseHost {
  readonly ssl: ConnectionOptions | false;
}

/**
 * Chooses the database server to use, among the hosts of `DATABASE_URL`.
 *
 * 1. A single host is used without a search if `sslmode` allows only one kind of connection (only TLS, or never TLS).
 *    Otherwise all servers are tried at once, and all connections use the first server that accepts the login (and is
 *    writable, if that is required).
 * 2. When a connection to that server fails, a new search starts in the background. Meanwhile, new connections fail at
 *    once, or within the connection timeout.
 * 3. After a failover, the first search that starts after the promotion finds the new primary.
 */
class DatabaseServers {
  readonly address: DatabaseAddress;
  /**
   * Whether the disk of the database counts as full: a write of this process failed for that reason, and no later write
   * has succeeded (database-readiness.ts).
   */
  writesFail = false;
  private chosen: DatabaseServer | null = null;
  private searching: Promise<DatabaseServer> | null = null;
  private readonly candidates: readonly (readonly DatabaseServer[])[];

  constructor(url: string) {
    this.address = parseDatabaseUrl(url);
    const { hosts, sslMode, tls } = this.address;
    this.candidates = hosts.map((host) =>
      WAYS[host.host.startsWith('/') ? 'disable' : sslMode].map((secure) => ({ ...host, ssl: secure ? tls : false })),
    );
    if (this.candidates.length === 1 && this.candidates[0].length === 1) this.chosen = this.candidates[0][0];
  }

  /** Returns the database server in use, or the first host of the list if no server was found yet. */
  get current(): DatabaseServer {
    return this.chosen ?? this.candidates[0][0];
  }

  /**
   * Returns the database server in use, and searches for one if necessary.
   * @throws the error that {@link tellingOf} selects, when no server is usable
   */
  async find(): Promise<DatabaseServer> {
    return this.chosen ?? (await this.search());
  }

  /** Starts a new search for a usable server, because a connection to the given server has failed. */
  lost(server: DatabaseServer): void {
    if (this.chosen === server && this.candidates.flat().length > 1) this.search().catch(() => undefined);
  }

  private async search(): Promise<DatabaseServer> {
    this.searching ??= Promise.any(this.candidates.map((ways) => this.tryAll(ways))).finally(
      () => (this.searching = null),
    );
    try {
      return (this.chosen = await this.searching);
    } catch (error) {
      throw tellingOf((error as AggregateError).errors as unknown[]);
    }
  }

  private async tryAll(ways: readonly DatabaseServer[]): Promise<DatabaseServer> {
    const errors: unknown[] = [];
    for (const way of ways) {
      try {
        await this.probe(way);
        return way;
      } catch (error) {
        errors.push(error);
      }
    }
    throw tellingOf(errors);
  }

  private async probe(server: DatabaseServer): Promise<void> {
    const { user, password, database, readWriteOnly } = this.address;
    const client = new pg.Client({ ...server, user, password, database, connectionTimeoutMillis: PROBE_MS });
    // The error listener of the connection does nothing, because `connect` and `query` report the same errors.
    client.on('error', () => undefined);
    try {
      await client.connect();
      if (!readWriteOnly) return;
      const { rows } = await client.query<{ read_only: boolean }>({
        text: `SELECT ${READ_ONLY} AS read_only`,
        query_timeout: PROBE_MS,
      } as pg.QueryConfig);
      if (rows[0].read_only) throw readOnlyServer();
    } finally {
      client.end().catch(() => undefined);
    }
  }
}

/** The attempts that libpq makes for each `sslmode`, in order; true means an attempt with TLS. */
const WAYS: Record<SslMode, readonly boolean[]> = {
  disable: [false],
  allow: [false, true],
  prefer: [true, false],
  require: [true],
  'verify-ca': [true],
  'verify-full': [true],
};

/**
 * Returns the error to report when no attempt succeeded: the last error of PostgreSQL or, if there is none, the last
 * error of any kind.
 */
function tellingOf(errors: readonly unknown[]): unknown {
  return errors.findLast((error) => error instanceof pg.DatabaseError) ?? errors.at(-1);
}

const known = new Map<string, DatabaseServers>();

/** Returns the servers of a `DATABASE_URL`. All parts of a process share one object for each URL. */
export function serversOf(url: string): DatabaseServers {
  let servers = known.get(url);
  if (!servers) known.set(url, (servers = new DatabaseServers(url)));
  return servers;
}
