import { performance } from 'node:perf_hooks';
import type { Pool, PoolClient } from 'pg';
import { requestContext } from '../context/request-context.js';
import { Turns } from '../overload/turns.js';

/** Less than a statement may take: those that hold the connections may all be waiting for one lock. */
const MOST_WAIT_MS = 5_000;
const NO_CONNECTION_FREE = 'NO_CONNECTION_FREE';
/** Of the time in which a connection was waited for: a process that was so busy may not have come to read the server's answer. */
const BUSY = 0.5;
const NOT_CONNECTED_IN_TIME = /connection timeout|timeout expired/;

/** Whether the error says that no connection became free in time. The database is there: others use it. */
export function isNoConnectionFree(error: unknown): boolean {
  return (error as { code?: unknown }).code === NO_CONNECTION_FREE;
}

type Connect = Parameters<Pool['connect']>[0];

/**
 * Callers take turns at the connections of the pool, whatever the number of calls that each has waiting; background work, and
 * what many callers asked together, is one caller of them. A pool by itself serves whoever came first: the calls of one
 * caller, a hundred at once, made all others wait for them, and refused those whom the wait was too long for.
 *
 * The pool's own time limit now bounds only the making of a connection.
 */
export function takeTurns(pool: Pool): Turns {
  const turns = new Turns(pool.options.max, MOST_WAIT_MS, noConnectionFree);
  const connect = patientConnect(pool);
  const held = new Set<PoolClient>();
  // A connection that came after the pool's own time limit is released without ever having been handed out.
  pool.on('release', (_, client) => {
    if (held.delete(client)) turns.leave(1);
  });
  const inTurn = (callback: Connect): void => {
    const enter = (): void =>
      connect((error, client, release) => {
        if (client) held.add(client);
        else turns.leave(1);
        callback(error, client, release);
      });
    const turn = turns.enter(requestContext().caller?.consumerKey ?? '', 1);
    if (turn === null) enter();
    else
      turn.then(
        () => enter(),
        (error: Error) =>
          // Not within the promise: what the callback throws is no rejection of it.
          process.nextTick(callback, error, undefined, () => undefined),
      );
  };
  pool.connect = ((callback?: Connect): Promise<PoolClient> | void => {
    if (callback) return inTurn(callback);
    return new Promise((resolve, reject) => inTurn((error, client) => (error ? reject(error) : resolve(client!))));
  }) as Pool['connect'];
  return turns;
}

/** As the pool connects; once more where it was this process that took so long. */
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
