import pg from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../../ormconfig.js';

const OLDEST_MAJOR = 15;
/** Key of the advisory lock that lets one process migrate while the others wait. */
const MIGRATION_LOCK = 7_031_946;

/**
 * Brings the schema up to date. Safe when several processes start at once: one migrates, the others wait and find nothing to do.
 * @throws Error when the server is older than PostgreSQL 15.
 */
export async function migrate(url: string): Promise<void> {
  const lock = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await lock.connect();
  try {
    await assertVersion(lock);
    await lock.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    // Migrations need no entities, whose metadata take their time to be built.
    const dataSource = new DataSource({ ...dataSourceOptions(url, 1), entities: [], extra: {} });
    await dataSource.initialize();
    try {
      await dataSource.runMigrations();
    } finally {
      await dataSource.destroy();
    }
  } finally {
    await lock.end();
  }
}

async function assertVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num');
  const major = Math.floor(Number(rows[0].server_version_num) / 10_000);
  if (major < OLDEST_MAJOR)
    throw new Error(`DATABASE_URL names a PostgreSQL ${major}; the service needs PostgreSQL ${OLDEST_MAJOR} or newer.`);
}
