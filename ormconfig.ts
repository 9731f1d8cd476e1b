import { DataSource } from 'typeorm';
import { dataSourceOptions } from './src/schema.js';
import { withSecretFiles } from './src/platform/secret-files.js';

/**
 * What TypeORM's own commands work on (`npm run migration:run`, `npm run migration:show`): they are told a file that exports
 * one data source. The service does not load it; its tables, and the migrations that make them, are listed in src/schema.ts.
 */
const env = withSecretFiles(process.env, (name, what) => {
  throw new Error(`${name} ${what}`);
});
export default new DataSource(dataSourceOptions(env['DATABASE_URL'] ?? 'postgres://localhost/postgres'));
