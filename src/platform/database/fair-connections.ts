import { performance } from 'node:perf_hooks';
import type { Pool, PoolClient } from 'pg';
import { requestContext } from '../context/request-context.js';
import { FairSemaphore } from '../overload/fair-semaphore.js';

/**
 * The maximum time, in milliseconds, for which a request waits for a database connection. This time is shorter than the
 * statement timeout, so that requests fail early when all connections are waiting for the same lock.
 */
const MOST_WAIT_MS = 5_000;
const NO_CONNECTION_FREE = 'NO_CONNECTION_FREE';
/**
 * The share of a waiting time above which this process counts as busy. If the process was busy while it waited for a
 * connection, it may itself have caused the delay: the server's answer may have arrived without being read.
 */
const BUSY = 0.5;
const NOT_CONNECTED_IN_TIME = /connection timeout|timeout expired/;

/**
 * Returns whether the error means that no connection became free in time. The database itself is available in this
 * case, but other requests are using all connections.
 */
export function isNoConnectionFree(error: unknown): boolean {
  return (error as { code?: unknown }).code === NO_CONNECTION_FREE;
}

type Connect = Parameters<Pool['connect']>[0];

/**
 * Shares the connections of the pool fairly among callers, however many waiting requests each caller has. All
 * background work, and all batches that serve many callers, count as one caller. A plain pool serves requests in the
 * order of arrival: a hundred requests of one caller would delay all other callers' requests until they time out.
 *
 * Because requests wait in the fair queue, the pool's own time limit only covers the time that it takes to open a
 * connection.
 */
export function shareFairly(pool: Pool): FairSemaphore {
  const semaphore = new FairSemaphore(pool.options.max, MOST_WAIT_MS, noConnectionFree);
  const connect = patientConnect(pool);
  const held = new Set<PoolClient>();
  // Only connections in `held` occupy a slot. A connection that opens after the pool's own time limit is released
  // without having been used.
  pool.on('release', (_, client) => {
    if (held.delete(client)) semaphore.leave(1);
  });
  const inTurn = (callback: Connect): void => {
    const enter = (): void =>
      connect((error, client, release) => {
        if (client) held.add(client);
        else semaphore.leave(1);
        callback(error, client, release);
      });
    const turn = semaphore.enter(requestContext().caller?.consumerKey ?? '', 1);
    if (turn === null) enter();
    else
      turn.then(
        () => enter(),
        (error: Error) =>
          // The caller's callback runs on the next tick, so that an exception in the callback does not become a promise
          // rejection.
          process.nextTick(callback, error, undefined, () => undefined),
      );
  };
  pool.connect = ((callback?: Connect): Promise<PoolClient> | void => {
    if (callback) return inTurn(callback);
    return new Promise((resolve, reject) => inTurn((error, client) => (error ? reject(error) : resolve(client!))));
  }) as Pool['connect'];
  return semaphore;
}

/**
 * Returns a function that opens connections like the pool's own `connect`. If the connection timed out because this
 * process itself was busy, the function retries once.
 */
function patientConnect(pool: Pool): (callback: Connect) => void {
  const connect = pool.connect.bind(pool);
  return (callback) => {
    const before = performance.eventLoopUtilization();
    connect((error, client, release) => {
      const wasBusy = () => performance.eventLoopUtilization(before).utilization > BUSY;
      if (error && NOT_CONNECTED_IN_TIME.test(error.message) && wasBusy()) connect(callback);
      else callback(error, client, release);
    });
  };
}

export function noConnectionFree(): Error {
  return Object.assign(new Error('No connection to the database became free in time.'), { code: NO_CONNECTION_FREE });
}
