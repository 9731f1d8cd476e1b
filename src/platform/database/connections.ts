import type { PoolConfig } from 'pg';
import { batchingSocket } from './batching-socket.js';
import { ServiceClient, type ServiceClientConfig } from './service-client.js';

const APPLICATION_NAME = 'candidate-eligibility-service';

/**
 * The lock timeout, in milliseconds, of a statement outside a transaction. The timeout is short, because other requests
 * wait for the connection that the statement occupies.
 */
export const LOCK_TIMEOUT_MS = 2_000;

/** The settings of every connection to PostgreSQL, in all pools. */
const CONNECTION = {
  // The time limit for opening a connection is short: while the database is unavailable, requests must fail quickly
  // instead of hanging.
  connectionTimeoutMillis: 2_000,
  // Idle connections are kept for a long time, because each connection keeps the plans of its statements.
  idleTimeoutMillis: 300_000,
  query_timeout: 8_000,
  keepAlive: true,
  // Statements are pipelined: a statement is sent before PostgreSQL has answered the earlier statements
  // (unit-of-work.ts).
  pipeline: true,
  // The socket sends the messages of one turn of the event loop together (batching-socket.ts).
  stream: batchingSocket,
} satisfies PoolConfig;

const SETTINGS = {
  // The lock timeout is shorter than the time for which requests wait for a connection (fair-connections.ts).
  statement_timeout: '7s',
  lock_timeout: '4s',
  idle_in_transaction_session_timeout: '60s',
  // Parallel workers are off. The service runs many short statements: starting workers would take longer than the work
  // itself, and would occupy the cores that other statements need.
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
 * Returns the settings of the LISTEN connection (listener.ts). When the server stops responding, this connection is
 * closed together with the connections of the pools (silent-server.ts).
 */
export function listenerConfig(url: string): ServiceClientConfig {
  const { keepAlive, stream } = CONNECTION;
  const application_name = `${APPLICATION_NAME} listener`;
  const limits = { connectionTimeoutMillis: 3_000, query_timeout: 4_000 };
  return { connectionString: url, ...limits, keepAlive, stream, application_name };
}

/**
 * Divides the database connections of a process: some are for units of work and for TypeORM's entities, and the rest
 * are for statements outside transactions.
 *
 * In a burst of requests, commands wait for a connection before their BEGIN. Meanwhile, notifications of the events
 * that are already committed can be created, sent and recorded, because that work has its own connections. The division
 * shortens the delay of notifications under load.
 */
export function connectionsFor(poolSize: number): { unitsOfWork: number; statements: number } {
  const unitsOfWork = Math.max(1, Math.floor(poolSize * 0.3));
  return { unitsOfWork, statements: poolSize - unitsOfWork };
}
