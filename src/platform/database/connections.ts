import type { PoolConfig } from 'pg';
import { batchingSocket } from './batching-socket.js';
import { ServiceClient, type ServiceClientConfig } from './service-client.js';

const APPLICATION_NAME = 'candidate-eligibility-service';

/** The lock timeout of a statement outside a transaction: other calls wait for its connection. */
export const LOCK_TIMEOUT_MS = 2_000;

/** The settings of every connection to PostgreSQL, for all pools. */
const CONNECTION = {
  // When the database is unavailable, calls must be refused quickly and never hang.
  connectionTimeoutMillis: 2_000,
  // A long-lived connection keeps its planned statements.
  idleTimeoutMillis: 300_000,
  query_timeout: 8_000,
  keepAlive: true,
  // Statements are sent without waiting for earlier answers (unit-of-work.ts).
  pipeline: true,
  // Messages of one turn of the event loop are sent together (batching-socket.ts).
  stream: batchingSocket,
} satisfies PoolConfig;

const SETTINGS = {
  // A statement gives up waiting for a lock before the calls waiting for its connection give up (connection-turns.ts).
  statement_timeout: '7s',
  lock_timeout: '4s',
  idle_in_transaction_session_timeout: '60s',
  // Statements are short and many. Starting parallel workers would take longer than the work, and would use other
  // statements' cores.
  max_parallel_workers_per_gather: '0',
};

/** Builds the settings of a pool for the database in the URL. */
export function poolConfig(url: string, settings: Record<string, string> = {}): PoolConfig & ServiceClientConfig {
  return {
    ...CONNECTION,
    Client: ServiceClient,
    connectionString: url,
    application_name: APPLICATION_NAME,
    settings: { ...SETTINGS, ...settings },
  } as unknown as PoolConfig & ServiceClientConfig;
}

/**
 * Builds the settings of the LISTEN connection (listener.ts). It is closed, like the pools' connections, when the
 * server stops answering any of them (silent-server.ts).
 */
export function listenerConfig(url: string): ServiceClientConfig {
  const { keepAlive, stream } = CONNECTION;
  const application_name = `${APPLICATION_NAME} listener`;
  const limits = { connectionTimeoutMillis: 3_000, query_timeout: 4_000 };
  return { connectionString: url, ...limits, keepAlive, stream, application_name };
}

/**
 * Splits the connections of a process into connections for units of work and entities, and connections for statements
 * outside transactions.
 *
 * In a burst, commands wait before their BEGIN. Events that are already committed are translated, sent and recorded
 * meanwhile, because that work has its own connections. The split shortens the delay of notifications under load.
 */
export function connectionsFor(poolSize: number): { unitsOfWork: number; statements: number } {
  const unitsOfWork = Math.max(1, Math.floor(poolSize * 0.3));
  return { unitsOfWork, statements: poolSize - unitsOfWork };
}
