import { Injectable } from '@nestjs/common';
import type { Pool, PoolClient } from 'pg';
import { Gauge, Histogram } from 'prom-client';
import { Metrics } from '../observability/metrics.js';
import type { FairSemaphore } from '../overload/fair-semaphore.js';
import { Database } from './database.js';

/**
 * Exports metrics of this process's connections to PostgreSQL. Each of the two pools has its own values: the pool for
 * statements outside transactions, and the pool for units of work.
 */
@Injectable()
export class DatabaseMetrics {
  constructor({ registry }: Metrics, database: Database) {
    const registers = [registry];
    const pools = Object.entries(database.pools);
    const figures = (name: string, help: string, read: (pool: Pool, semaphore: FairSemaphore) => number): void => {
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: ['pool'],
        registers,
        collect: () => {
          for (const [label, { pool, semaphore }] of pools) gauge.set({ pool: label }, read(pool, semaphore));
        },
      });
    };
    figures('database_pool_connections', 'Open connections', (pool) => pool.totalCount);
    figures('database_pool_idle_connections', 'Open connections that are not in use', (pool) => pool.idleCount);
    figures(
      'database_pool_waiting',
      'Calls that wait for a connection',
      (pool, semaphore) => pool.waitingCount + semaphore.waiting,
    );
    const acquisition = new Histogram({
      name: 'database_pool_acquisition_seconds',
      help: 'How long a call waits for its connection',
      labelNames: ['pool'],
      buckets: [0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2, 5],
      registers,
    });
    for (const [label, { pool }] of pools) timeConnects(pool, acquisition.labels({ pool: label }));
  }
}

type Connected = Parameters<Parameters<Pool['connect']>[0]>;

/**
 * Measures how long callers wait for a connection of the pool. The pool's `query` calls `connect`, so the callers of
 * `query` are measured as well.
 */
function timeConnects(pool: Pool, acquisition: { observe(seconds: number): void }): void {
  const connect = pool.connect.bind(pool);
  const timed = (callback?: (...connected: Connected) => void): Promise<PoolClient> | void => {
    const asked = performance.now();
    const observe = () => acquisition.observe((performance.now() - asked) / 1000);
    if (callback === undefined) return connect().finally(observe);
    connect((...connected) => {
      observe();
      callback(...connected);
    });
  };
  pool.connect = timed as Pool['connect'];
}
