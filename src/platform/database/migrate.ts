import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../schema.js';
import { ConfigError } from '../environment-reader.js';
import { MIGRATION_LOCK_TIMEOUT } from './build-index.js';
import { assertSeesReplication, connectUsable } from './database-check.js';
import { databaseFault } from './database-faults.js';
import { assertRights } from './grants.js';
import { ServiceClient } from './service-client.js';

/** The key of the advisory lock under which one process migrates while other processes wait. */
const MIGRATION_LOCK = 7_031_946;
const LOCK_POLL_MS = 100;
const LOG_EVERY_MS = 3_000;
const INSUFFICIENT_PRIVILEGE = '42501';
const LOCK_NOT_AVAILABLE = '55P03';
const ATTEMPTS = 60;
const RETRY_PAUSE_MS = 1_000;

/**
 * Brings the database schema up to date. Several processes may call this function at the same time, even while
 * processes of the previous release are running.
 *
 * 1. The database is checked first (database-check.ts): behind a pooler that shares sessions, the lock would be
 *    useless.
 * 2. One process migrates, and the others poll for the lock. They poll, because a statement that waits for the lock
 *    would be an open transaction. A concurrent index build would wait for that transaction, and both would wait
 *    forever. The waiting processes log that they wait, and give up after `waitS`.
 * 3. A migration that does not get a table lock soon is rolled back and retried, because all other statements queue
 *    behind a waiting lock.
 * 4. The lock is released explicitly: behind a pooler, closing a connection may not end its session.
 *
 * @param waitS seconds to wait for another process
 * @param seesReplication whether the role must be able to see which data the standbys have confirmed
 * @throws ConfigError when the database is unsuitable, or when another process takes longer than `waitS`
 */
export async function migrate(url: string, { waitS = 300, seesReplication = false } = {}): Promise<void> {
  const lock = await connectUsable(url);
  // The error listener of the connection does nothing, because the next statement on the connection reports the error.
  lock.on('error', () => undefined);
  try {
    if (seesReplication) await assertSeesReplication(lock);
    await acquire(lock, waitS);
    try {
      // The rights are checked even after a failed migration. An error about missing rights then replaces the error of
      // the migration, because missing rights are its likely cause.
      await run(url).finally(() => assertRights(lock));
    } finally {
      await lock.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    }
  } catch (error) {
    throw databaseFault(error, url) ?? error;
  } finally {
    await lock.end().catch(() => undefined);
  }
}

async function acquire(lock: pg.Client, waitS: number): Promise<void> {
  const begun = performance.now();
  let loggedAt = begun;
  while (!(await isMine(lock))) {
    const now = performance.now();
    const waited = Math.floor((now - begun) / 1000);
    if (waited >= waitS)
      throw new ConfigError([
        `MIGRATION_WAIT_S has passed: another process has been migrating the database for ${waitS} seconds. See what holds it up ` +
          '(pg_stat_activity), or raise the setting.',
      ]);
    if (now - loggedAt >= LOG_EVERY_MS) {
      loggedAt = now;
      process.stderr.write(`Waiting for another process that migrates the database (${waited} of ${waitS} s)\n`);
    }
    await pause(LOCK_POLL_MS);
  }
}

async function run(url: string): Promise<void> {
  const options = dataSourceOptions(url, 1);
  // Entities are omitted, because migrations do not need them and their metadata is slow to build. All migrations share
  // one connection without a time limit, so that the session's settings apply to all of them.
  const extra = { Client: ServiceClient, connectionString: url };
  // TypeORM's own log is suppressed, because it would print errors that `migrate` reports as well.
  const dataSource = new DataSource({ ...options, entities: [], extra, logger: 'debug' });
  await dataSource.initialize();
  try {
    await dataSource.query(`SET lock_timeout = '${MIGRATION_LOCK_TIMEOUT}'`);
    await runMigrations(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

async function runMigrations(dataSource: DataSource): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await dataSource.runMigrations();
      return;
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code === INSUFFICIENT_PRIVILEGE)
        throw new ConfigError([
          'DATABASE_URL names a role that may not change the schema, which this release needs: start once with a role that ' +
            'owns the tables and has CREATE on the schema.',
        ]);
      if (code !== LOCK_NOT_AVAILABLE || attempt === ATTEMPTS) throw error;
      await pause(RETRY_PAUSE_MS);
    }
  }
}

async function isMine(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ mine: boolean }>('SELECT pg_try_advisory_lock($1) AS mine', [MIGRATION_LOCK]);
  return rows[0].mine;
}
