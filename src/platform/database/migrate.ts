import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../../ormconfig.js';
import { ConfigError } from '../../config.js';
import { MIGRATION_LOCK_TIMEOUT } from './build-index.js';

const OLDEST_MAJOR = 15;
/** Key of the advisory lock that lets one process migrate while the others wait. */
const MIGRATION_LOCK = 7_031_946;
const LOCK_POLL_MS = 100;
const INSUFFICIENT_PRIVILEGE = '42501';
const LOCK_NOT_AVAILABLE = '55P03';
const ATTEMPTS = 60;
const RETRY_PAUSE_MS = 1_000;

/**
 * Brings the schema up to date. Safe when several processes start at once, and while others of the release before work.
 *
 * 1. One process migrates, the others ask again and again: a statement that waited for the lock would be a transaction that
 *    an index built concurrently waits for, and both would wait for ever.
 * 2. A migration that does not get a lock soon is rolled back and tried again: behind one that waits, everybody waits.
 *
 * @throws ConfigError when the server is older than PostgreSQL 15, or the role may not change the schema.
 */
export async function migrate(url: string): Promise<void> {
  const lock = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await lock.connect();
  try {
    await assertVersion(lock);
    while (!(await isMine(lock))) await pause(LOCK_POLL_MS);
    // Migrations need no entities, whose metadata take their time to be built. One connection: it keeps what is SET.
    const dataSource = new DataSource({ ...dataSourceOptions(url, 1), entities: [], extra: {} });
    await dataSource.initialize();
    try {
      await dataSource.query(`SET lock_timeout = '${MIGRATION_LOCK_TIMEOUT}'`);
      await run(dataSource);
    } finally {
      await dataSource.destroy();
    }
  } finally {
    await lock.end();
  }
}

async function run(dataSource: DataSource): Promise<void> {
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

async function assertVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num');
  const major = Math.floor(Number(rows[0].server_version_num) / 10_000);
  if (major < OLDEST_MAJOR)
    throw new ConfigError([
      `DATABASE_URL names a PostgreSQL ${major}; the service needs PostgreSQL ${OLDEST_MAJOR} or newer.`,
    ]);
}
