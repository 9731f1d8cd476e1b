import { join } from 'node:path';
import { DataSource, type DataSourceOptions } from 'typeorm';

/**
 * The one definition of the data source: the application connects with it, and so do the migration commands
 * (`npm run migration:run`). The schema is made by migrations alone; entities never synchronise it.
 */
export function dataSourceOptions(url: string, poolSize = 10): DataSourceOptions {
  return {
    type: 'postgres',
    url,
    entities: [join(__dirname, 'src/**/*.entity.{ts,js}')],
    migrations: [join(__dirname, 'src/migrations/*.{ts,js}')],
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'each',
    synchronize: false,
    applicationName: 'candidate-eligibility-service',
    poolSize,
    extra: {
      // A database that went away must be a quick refusal, never a hang.
      connectionTimeoutMillis: 2_000,
      query_timeout: 8_000,
      statement_timeout: 7_000,
      idle_in_transaction_session_timeout: 60_000,
      keepAlive: true,
      // A statement does not wait for the answer to the one before it (unit-of-work.ts).
      pipeline: true,
    },
  };
}

export default new DataSource(dataSourceOptions(process.env['DATABASE_URL'] ?? 'postgres://localhost/postgres'));
