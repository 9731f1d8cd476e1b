import pg from 'pg';
import type { ConnectionOptions } from 'node:tls';
import { parseDatabaseUrl, type DatabaseAddress, type DatabaseHost, type SslMode } from './database-url.js';

/** Time for one server to accept a connection and say whether it accepts writes. */
const PROBE_MS = 2_000;

/** Whether nothing can be written: a standby, or a server that was set so. */
export const READ_ONLY = `(pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean)`;

/** PostgreSQL's own code for it: read_only_sql_transaction. */
export function readOnlyServer(): Error {
  return Object.assign(new Error('The database is read-only.'), { code: '25006' });
}

/** Where to connect, and whether by TLS. */
export interface DatabaseServer extends DatabaseHost {
  readonly ssl: ConnectionOptions | false;
}

/**
 * Which server of `DATABASE_URL` to use.
 *
 * 1. One host whose `sslmode` leaves no choice is simply used. Else all are tried at once, and the first that lets the
 *    service in (and can be written to, when that is asked for) is used from then on, by all connections.
 * 2. A connection to it that cannot be made begins another search, in the background; connections that are made meanwhile fail
 *    at once, or within the time that a connection may take.
 * 3. So a failover is over for callers with the first search after the promotion.
 */
class DatabaseServers {
  readonly address: DatabaseAddress;
  /** A write of this process was refused for want of room, and none was tried since (database-readiness.ts). */
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

  /** The one in use, or the first of the list before any was found. */
  get current(): DatabaseServer {
    return this.chosen ?? this.candidates[0][0];
  }

  /** @throws what the first of the servers said, when none can be used */
  async find(): Promise<DatabaseServer> {
    return this.chosen ?? (await this.search());
  }

  /** A connection to this server could not be made. */
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
    // Told by `connect` and `query`.
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

/** The attempts of libpq, in this order: with TLS or without. */
const WAYS: Record<SslMode, readonly boolean[]> = {
  disable: [false],
  allow: [false, true],
  prefer: [true, false],
  require: [true],
  'verify-ca': [true],
  'verify-full': [true],
};

/** Prefers an error of PostgreSQL itself to a missing answer, and the last attempt to the first. */
function tellingOf(errors: readonly unknown[]): unknown {
  return errors.findLast((error) => error instanceof pg.DatabaseError) ?? errors.at(-1);
}

const known = new Map<string, DatabaseServers>();

/** The servers of a `DATABASE_URL`: one object for the process. */
export function serversOf(url: string): DatabaseServers {
  let servers = known.get(url);
  if (!servers) known.set(url, (servers = new DatabaseServers(url)));
  return servers;
}
