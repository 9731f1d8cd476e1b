import type { EnvironmentReader } from '../environment-reader.js';
import { parseDatabaseUrl } from './database-url.js';

/** The settings of the database and of this process's connections to it. */
export class DatabaseConfig {
  /** The address of the database; null for the embedded PostgreSQL. */
  readonly url: string | null;
  readonly poolSize: number;
  readonly migrationWaitS: number;

  constructor(read: EnvironmentReader) {
    this.url = databaseUrl(read);
    this.poolSize = read.integer('DATABASE_POOL_SIZE', 10, 2, 1000);
    this.migrationWaitS = migrationWaitS(read);
  }
}

/** Reads how many seconds a process waits while another process migrates the database. */
export function migrationWaitS(read: EnvironmentReader): number {
  return read.integer('MIGRATION_WAIT_S', 300, 1, 86_400);
}

function databaseUrl(read: EnvironmentReader): string | null {
  const url = read.raw('DATABASE_URL');
  if (url === undefined) return null;
  try {
    parseDatabaseUrl(url);
  } catch (error) {
    read.fault('DATABASE_URL', (error as Error).message);
  }
  return url;
}
