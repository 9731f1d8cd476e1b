import { Injectable } from '@nestjs/common';
import { Readiness } from '../observability/readiness.js';
import { Database, prepared } from './database.js';
import { READ_ONLY, serversOf } from './database-servers.js';

const MIGRATED = prepared('readiness-migrated', 'SELECT name FROM migrations');

// Selects whether the server is read-only. A server is read-only if it is a standby, or if its transactions are
// read-only by default. The statement reads the setting that applies to new connections, because the current connection
// may be older than an `ALTER DATABASE … SET`. An option in `DATABASE_URL` ($1) takes precedence.
const IS_READ_ONLY = prepared(
  'readiness-is-read-only',
  `SELECT ${READ_ONLY} OR NOT $1::boolean AND coalesce(
     (SELECT split_part(setting, '=', 2)::boolean FROM pg_db_role_setting CROSS JOIN unnest(setconfig) AS setting
      WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
        AND setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = session_user))
        AND setting LIKE 'default_transaction_read_only=%'
      ORDER BY setrole DESC, setdatabase DESC LIMIT 1), false) AS read_only`,
);

/**
 * The SQLSTATE for an exceeded `temp_file_limit`. This error means that a trial write filled its temporary file up to
 * that limit, so the disk is not full.
 */
const TEMP_FILE_LIMIT = '53400';

/**
 * Statements that write a temporary file, to detect a full disk. They sort more rows than fit in memory. PostgreSQL
 * writes the rows to a file in the database's tablespace, and deletes the file afterwards. The three statements are
 * sent in one message, so PostgreSQL runs them in one transaction.
 */
const FILL_A_FILE = {
  text: `SET LOCAL temp_tablespaces = ''; SET LOCAL work_mem = '64kB';
    SELECT max(filler) FROM
      (SELECT repeat('x', 1000) || n AS filler FROM generate_series(1, 4000) AS n ORDER BY filler OFFSET 0) AS sorted`,
};

/**
 * Checks that the database answers, is writable, and has the schema of this release.
 *
 * A full disk is detected when a write of the service fails. From then on, each check tries a write that leaves nothing
 * behind, until such a write succeeds.
 */
@Injectable()
export class DatabaseReadiness {
  /** The trial write that is running to detect a full disk. Concurrent readiness checks share it. */
  private trial: Promise<boolean> | null = null;

  constructor(
    readiness: Readiness,
    private readonly database: Database,
  ) {
    readiness.add('database', async () => {
      const hasOption = 'default_transaction_read_only' in serversOf(database.url).address.settings;
      const row = await database.queryOne<{ read_only: boolean }>(IS_READ_ONLY, [hasOption]);
      if (row!.read_only) return 'read-only';
      return (await this.canWrite()) ? null : 'disk-full';
    });
    readiness.add('migrations', async () => {
      const run = new Set((await database.query<{ name: string }>(MIGRATED)).map((row) => row.name));
      const known = database.dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name);
      return known.every((name) => run.has(name)) ? null : 'pending';
    });
  }

  private async canWrite(): Promise<boolean> {
    if (!serversOf(this.database.url).writesFail) return true;
    this.trial ??= this.tryToWrite().finally(() => (this.trial = null));
    return this.trial;
  }

  private async tryToWrite(): Promise<boolean> {
    try {
      await this.database.pool.query(FILL_A_FILE);
    } catch (error) {
      if ((error as { code?: string }).code !== TEMP_FILE_LIMIT) return false;
    }
    serversOf(this.database.url).writesFail = false;
    return true;
  }
}
