import { Config } from './config.js';
import { ConfigError } from './platform/environment-reader.js';
import { acrossAccounts } from './platform/database/database.js';
import { connectUsable } from './platform/database/database-check.js';

/**
 * Reads whether the database belongs to a sandbox. The query needs no privilege on the schema, because a role with
 * minimal privileges also runs the query.
 */
const STATE = `
  SELECT EXISTS (SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                 WHERE nspname = 'sandbox' AND relname = 'clock') AS is_sandbox,
    to_regclass('accounts') IS NOT NULL AND to_regclass('users') IS NOT NULL AS has_schema`;
const FILLED = {
  text: 'SELECT EXISTS (SELECT FROM accounts) OR EXISTS (SELECT FROM users) AS is_filled',
  across: acrossAccounts.figures,
};

/**
 * Checks, before anything is changed, that a sandbox uses only the database of a sandbox, and that no other service
 * uses the database of a sandbox. The check protects real data, because a sandbox moves its clock permanently, and
 * keeps the secrets of its accounts in a file. The database of a sandbox is recognized by the schema of the clock
 * (sandbox/clock-schema.ts), even after it was restored from a dump.
 *
 * @throws ConfigError with one line that names the mismatch and its remedy
 */
export async function assertSandboxFits(config: Config, databaseUrl: string): Promise<void> {
  const client = await connectUsable(databaseUrl);
  try {
    const { rows } = await client.query<{ is_sandbox: boolean; has_schema: boolean }>(STATE);
    const [{ is_sandbox, has_schema }] = rows;
    if (is_sandbox === config.process.sandbox) return;
    const name = config.database.url === null ? 'DATA_DIR' : 'DATABASE_URL';
    if (is_sandbox)
      throw new ConfigError([
        `SANDBOX must be true: ${name} names the database of a sandbox, whose clock may be ahead and whose secrets are in a ` +
          'file. Start it as a sandbox (NODE_ENV must not be production), or name another database.',
      ]);
    if (has_schema && (await client.query<{ is_filled: boolean }>(FILLED)).rows[0].is_filled)
      throw new ConfigError([
        `SANDBOX must not be true: ${name} names a database that has accounts or users and is no sandbox. ` +
          'Start it with SANDBOX=false, or name an empty database.',
      ]);
  } finally {
    await client.end().catch(() => undefined);
  }
}
