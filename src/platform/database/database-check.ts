import type pg from 'pg';
import { ConfigError } from '../environment-reader.js';
import { connectionFault } from './database-faults.js';
import { READ_ONLY } from './database-servers.js';
import { connectTo } from './service-client.js';

const OLDEST_MAJOR = 15;
/**
 * The number of rounds in which the check looks for a pooler in transaction mode. A lightly used pooler may give a
 * client the same server process by chance, but is unlikely to do so in every round.
 */
const ROUNDS = 5;

/**
 * Connects to the database, and checks that the service can work with it.
 * @throws ConfigError with one line: the problem with `DATABASE_URL` and its remedy
 */
export async function connectUsable(url: string): Promise<pg.Client> {
  try {
    const client = await connectTo(url);
    try {
      await assertVersion(client);
      await assertEncoding(client);
      await assertSession(client, url);
      await assertWritable(client);
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  } catch (error) {
    throw connectionFault(error, url) ?? error;
  }
}

async function assertVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num');
  const major = Math.floor(Number(rows[0].server_version_num) / 10_000);
  if (major < OLDEST_MAJOR)
    throw new ConfigError([
      `DATABASE_URL names a PostgreSQL ${major}; the service needs PostgreSQL ${OLDEST_MAJOR} or newer.`,
    ]);
}

/**
 * Rejects a database with an encoding other than UTF-8. Names may contain characters of any script, and other encodings
 * lack most scripts.
 */
async function assertEncoding(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding');
  if (rows[0].server_encoding !== 'UTF8')
    throw new ConfigError([
      `DATABASE_URL names a database in ${rows[0].server_encoding}: create one with ENCODING 'UTF8' (TEMPLATE template0).`,
    ]);
}

/**
 * Rejects a pooler in transaction mode: prepared statements, advisory locks and LISTEN need a session. Behind such a
 * pooler, two connections may use the same server process in turn, and one connection may use several processes.
 */
async function assertSession(client: pg.Client, url: string): Promise<void> {
  const other = await connectTo(url);
  try {
    const mine = await processOf(client);
    let others: number | null = null;
    for (let round = 0; round < ROUNDS; round++) {
      await other.query('BEGIN');
      const seen = await processOf(other);
      // Without a pooler in transaction mode, each connection keeps its own server process.
      if (seen === mine || seen !== (others ??= seen) || (await processOf(client)) !== mine) throw noSession();
      await other.query('COMMIT');
    }
  } catch (error) {
    // A pooler in statement mode refuses transactions with the error code 08P01.
    if ((error as { code?: unknown }).code === '08P01') throw noSession();
    throw error;
  } finally {
    await other.end().catch(() => undefined);
  }
}

async function processOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0].pid;
}

function noSession(): ConfigError {
  return new ConfigError([
    'DATABASE_URL names a pooler that shares a connection between sessions, which prepared statements, locks and LISTEN do not ' +
      'survive: set it to session mode (pgbouncer: pool_mode = session), or name PostgreSQL itself.',
  ]);
}

async function assertWritable(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ read_only: boolean; standby: boolean }>(
    `SELECT ${READ_ONLY} AS read_only, pg_is_in_recovery() AS standby`,
  );
  if (rows[0].read_only)
    throw new ConfigError([
      `DATABASE_URL names a server that is read-only (${rows[0].standby ? 'a standby' : 'default_transaction_read_only is on'}): ` +
        'name the primary, or all servers with target_session_attrs=read-write.',
    ]);
}

/**
 * Rejects a database role that may not see the state of replication. PostgreSQL shows such a role the list of standbys,
 * but hides the positions that the standbys have confirmed.
 */
export async function assertSeesReplication(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ may: boolean }>(
    `SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS may`,
  );
  if (!rows[0].may)
    throw new ConfigError([
      'CONFIRM_REPLICATED needs a role that may see what standbys have confirmed: GRANT pg_read_all_stats TO the role of DATABASE_URL.',
    ]);
}
