import type { PoolConfig } from 'pg';
import { batchingSocket } from './batching-socket.js';
import { ServiceClient, type ServiceClientConfig } from './service-client.js';

const APPLICATION_NAME = 'candidate-eligibility-service';

/** A statement of no transaction that waits so long for a lock is refused: others wait for its connection. */
export const LOCK_TIMEOUT_MS = 2_000;

/** How a connection of the service to PostgreSQL behaves, whichever pool it belongs to. */
const CONNECTION = {
  // A database that went away must be a quick refusal, never a hang.
  connectionTimeoutMillis: 2_000,
  // A connection that is kept has its statements planned.
  idleTimeoutMillis: 300_000,
  query_timeout: 8_000,
  keepAlive: true,
  // A statement does not wait for the answer to the one before it (unit-of-work.ts).
  pipeline: true,
  // Messages of one turn of the event loop leave together (batching-socket.ts).
  stream: batchingSocket,
} satisfies PoolConfig;

const SETTINGS = {
  // A statement that waits for a lock gives up before the calls that wait for its connection (connection-turns.ts).
  statement_timeout: '7s',
  lock_timeout: '4s',
  idle_in_transaction_session_timeout: '60s',
  // Statements are short and many: to start workers for one takes longer than the work, and the cores of the others.
  max_parallel_workers_per_gather: '0',
};

/** A pool of connections that behave so, to the database that the URL names. */
export function poolConfig(url: string, settings: Record<string, string> = {}): PoolConfig & ServiceClientConfig {
  return {
    ...CONNECTION,
    Client: ServiceClient,
    connectionString: url,
    application_name: APPLICATION_NAME,
    settings: { ...SETTINGS, ...settings },
  } as unknown as PoolConfig & ServiceClientConfig;
}

/** The connection on which a process listens (listener.ts); the silence of others on the same server ends it as well. */
export function listenerConfig(url: string): ServiceClientConfig {
  const { keepAlive, stream } = CONNECTION;
  const application_name = `${APPLICATION_NAME} listener`;
  const limits = { connectionTimeoutMillis: 3_000, query_timeout: 4_000 };
  return { connectionString: url, ...limits, keepAlive, stream, application_name };
}

/**
 * How many connections of a process are for units of work and entities; the others are for statements of no transaction.
 *
 * Commands that come in a rush wait before their BEGIN, and what is committed is translated, sent and recorded meanwhile: it
 * waits behind them neither for a connection nor for the processors that many transactions would share. At 200 bookings a
 * second on 2 cores the delay until the partner has a notification is 0.5 to 0.6 at p95 of that with one pool for all.
 */
export function connectionsFor(poolSize: number): { unitsOfWork: number; statements: number } {
  const unitsOfWork = Math.max(1, Math.floor(poolSize * 0.3));
  return { unitsOfWork, statements: poolSize - unitsOfWork };
}
