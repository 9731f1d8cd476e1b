import { Injectable } from '@nestjs/common';
import { Readiness } from '../observability/readiness.js';
import { Database, prepared } from './database.js';

const MIGRATED = prepared('readiness-migrated', 'SELECT name FROM migrations');

/** Whether the database answers and has the schema that this release needs. */
@Injectable()
export class DatabaseReadiness {
  constructor(database: Database, readiness: Readiness) {
    readiness.add('database', async () => {
      await database.query({ text: 'SELECT 1' });
      return null;
    });
    readiness.add('migrations', async () => {
      const run = new Set((await database.query<{ name: string }>(MIGRATED)).map((row) => row.name));
      const known = database.dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name);
      return known.every((name) => run.has(name)) ? null : 'pending';
    });
  }
}
