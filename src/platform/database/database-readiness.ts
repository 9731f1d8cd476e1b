import { Injectable } from '@nestjs/common';
import { Readiness } from '../observability/readiness.js';
import { Database, prepared } from './database.js';

const MIGRATED = prepared('readiness-migrated', 'SELECT name FROM migrations');

// A standby, or a server whose disk is full and that was set so.
const IS_READ_ONLY = prepared(
  'readiness-is-read-only',
  `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS read_only`,
);

/** Whether the database answers, can be written to, and has the schema that this release needs. */
@Injectable()
export class DatabaseReadiness {
  constructor(database: Database, readiness: Readiness) {
    readiness.add('database', async () => {
      const row = await database.queryOne<{ read_only: boolean }>(IS_READ_ONLY);
      return row!.read_only ? 'read-only' : null;
    });
    readiness.add('migrations', async () => {
      const run = new Set((await database.query<{ name: string }>(MIGRATED)).map((row) => row.name));
      const known = database.dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name);
      return known.every((name) => run.has(name)) ? null : 'pending';
    });
  }
}
