import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { migrationWaitS } from './platform/database/database.config.js';
import { ConfigError, EnvironmentReader } from './platform/environment-reader.js';
import { grantTo } from './platform/database/grants.js';
import { migrate } from './platform/database/migrate.js';

const USAGE = 'usage: npm run migrate [-- --grant-to ROLE]\n';

/**
 * Migrates the database in `DATABASE_URL`, and grants the service's role its rights: `npm run migrate -- --grant-to
 * ROLE`. Only this command connects as the owner of the tables, so that the service's own processes never need the
 * owner's password. The command needs no other setting.
 */
async function main(): Promise<void> {
  const role = roleAsked();
  const read = new EnvironmentReader(process.env);
  const url = read.raw('DATABASE_URL');
  const waitS = migrationWaitS(read);
  if (read.faults.length > 0) throw new ConfigError(read.faults);
  if (url === undefined) throw new ConfigError(['DATABASE_URL is required: the role that owns the tables']);
  await migrate(url, { waitS });
  if (role !== undefined) await grantTo(role, url);
  process.stdout.write(
    role === undefined ? 'Migrated.\n' : `Migrated. The role ${role} has the rights that the service needs.\n`,
  );
}

function roleAsked(): string | undefined {
  try {
    const { values } = parseArgs({ options: { 'grant-to': { type: 'string' } } });
    if (values['grant-to'] !== '') return values['grant-to'];
  } catch {
    // The error message of parseArgs uses terms of its own API, so the usage text is shown instead.
  }
  process.stderr.write(USAGE);
  process.exit(2);
}

main().catch((error: unknown) => {
  const faults = error instanceof ConfigError ? error.faults : [error instanceof Error ? error.message : String(error)];
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exit(1);
});
