import type { PoolConfig } from 'pg';
import { batchingSocket } from './batching-socket.js';
import { ServiceClient, type ServiceClientConfig } from './service-client.js';

const APPLICATION_NAME = 'candidate-eligibility-service';

/**
 * The lock timeout of a statement outside a transaction. It is short, because other requests wait for the connection.
 */
export const LOCK_TIMEOUT_MS = 2_000;

/** The settings of every connection to PostgreSQL, in all pools. */
const CONNECTION = {
  // If the database is unavailable, requests must be refused quickly instead of hanging.
  connectionTimeoutMillis: 2_000,
  // Connections are kept for long, because each keeps the plans of its statements.
  idleTimeoutMillis: 300_000,
  query_timeout: 8_000,
  keepAlive: true,
  // A statement is sent before the earlier ones are answered (unit-of-work.ts).
  pipeline: true,
  // The messages of one turn of the event loop are sent together (batching-socket.ts).
  stream: batchingSocket,
} satisfies PoolConfig;

const SETTINGS = {
  // The lock timeout ends before the time for which requests wait for the statement's connection (fair-connections.ts).
  statement_timeout: '7s',
  lock_timeout: '4s',
  idle_in_transaction_session_timeout: '60s',
  // Statements are short and many: starting parallel workers would take longer than their work, and occupy the cores of
  // other statements.
  max_parallel_workers_per_gather: '0',
};

/** Returns the settings of a pool for the database in the URL. */
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
 * Returns the settings of the LISTEN connection (listener.ts). This connection is closed, like the connections of the
 * pools, when the server stops answering any of them (silent-server.ts).
 */
export function listenerConfig(url: string): ServiceClientConfig {
  const { keepAlive, stream } = CONNECTION;
  const application_name = `${APPLICATION_NAME} listener`;
  const limits = { connectionTimeoutMillis: 3_000, query_timeout: 4_000 };
  return { connectionString: url, ...limits, keepAlive, stream, application_name };
}

/**
 * Splits the connections of a process: some are for units of work and entities, the others for statements outside
 * transactions.
 *
 * In a burst, commands wait before their BEGIN. Committed events are translated, sent and recorded meanwhile, because
 * that work has its own connections. The split shortens the delay of notifications under load.
 */
export function connectionsFor(poolSize: number): { unitsOfWork: number; statements: number } {
  const unitsOfWork = Math.max(1, Math.floor(poolSize * 0.3));
  return { unitsOfWork, statements: poolSize - unitsOfWork };
}
