import pg from 'pg';
import type { ConnectionOptions } from 'node:tls';
import { parseDatabaseUrl, type DatabaseAddress, type DatabaseHost, type SslMode } from './database-url.js';

/** Time limit for one server to accept a connection and say whether it is writable. */
const PROBE_MS = 2_000;

/** SQL: whether the server is read-only, that is a standby or a server set to read-only. */
export const READ_ONLY = `(pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean)`;

/** Builds an error with PostgreSQL's own code: read_only_sql_transaction. */
export function readOnlyServer(): Error {
  return Object.assign(new Error('The database is read-only.'), { code: '25006' });
}

/** Host and port of a server, and whether to use TLS. */
export interface DatabaseServer extends DatabaseHost {
  readonly ssl: ConnectionOptions | false;
}

/**
 * Chooses the server of `DATABASE_URL` to use.
 *
 * 1. A single host whose `sslmode` leaves no choice is used without a search. Otherwise all servers are tried at once.
 *    All connections then use the first server that accepts the login (and is writable, when that is required).
 * 2. When a connection to that server fails, a new search starts in the background. Meanwhile, new connections fail at
 *    once, or within the connection timeout.
 * 3. Callers therefore notice the end of a failover with the first search after the promotion.
 */
class DatabaseServers {
  readonly address: DatabaseAddress;
  /**
   * Whether a write of this process was refused because the disk was full, and no later write has succeeded
   * (database-readiness.ts).
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

  /** Returns the server in use, or the first of the list before a server was found. */
  get current(): DatabaseServer {
    return this.chosen ?? this.candidates[0][0];
  }

  /** @throws the error of the first server when no server is usable */
  async find(): Promise<DatabaseServer> {
    return this.chosen ?? (await this.search());
  }

  /** Starts a new search after a connection to this server failed. */
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
    // `connect` and `query` report the error.
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

/** The attempts of libpq, in this order: true is with TLS. */
const WAYS: Record<SslMode, readonly boolean[]> = {
  disable: [false],
  allow: [false, true],
  prefer: [true, false],
  require: [true],
  'verify-ca': [true],
  'verify-full': [true],
};

/** Picks the error to report: an error of PostgreSQL before a missing answer, and the last attempt before the first. */
function tellingOf(errors: readonly unknown[]): unknown {
  return errors.findLast((error) => error instanceof pg.DatabaseError) ?? errors.at(-1);
}

const known = new Map<string, DatabaseServers>();

/** Returns the servers of a `DATABASE_URL`: one object for the process. */
export function serversOf(url: string): DatabaseServers {
  let servers = known.get(url);
  if (!servers) known.set(url, (servers = new DatabaseServers(url)));
  return servers;
}
