import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, listen } from '../src/app.js';
import { Config } from '../src/config.js';
import { SCOPES } from '../src/platform/context/caller.js';
import { Database } from '../src/platform/database/database.js';
import { migrate } from '../src/platform/database/migrate.js';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { prepare } from './prepare.js';
import { removeDataFolder } from './stage.js';

/** The service in this very process over a PostgreSQL of its own, with an account and a token that may do everything. */
export interface Inside {
  readonly baseUrl: string;
  readonly databaseUrl: string;
  readonly database: Database;
  readonly account: string;
  readonly token: string;
  stop(): Promise<void>;
}

export async function startInside(): Promise<Inside> {
  const folder = mkdtempSync(join(tmpdir(), 'eligibility-bench-'));
  // PostgreSQL may run as another user.
  chmodSync(folder, 0o755);
  const server = await startEmbeddedPostgres({ dataDir: folder, database: 'bench' });
  await migrate(server.url);
  const { account, token } = await prepare(server.url);
  const config = new Config({
    DATABASE_URL: server.url,
    DATA_DIR: folder,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    PORT: '0',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'fatal',
    RATE_LIMIT_PER_MINUTE: '0',
  });
  const app = await createApp(config, server.url);
  await listen(app, config);
  return {
    baseUrl: config.baseUrl,
    databaseUrl: server.url,
    database: app.get(Database),
    account,
    token,
    stop: async () => {
      await app.close();
      await server.stop();
      removeDataFolder(folder);
    },
  };
}

/** Who may do everything in the console. */
export async function makeOperator(baseUrl: string, token: string): Promise<{ username: string; password: string }> {
  const operator = { username: 'bench-operator', password: 'eleven slow otters sing' };
  const response = await fetch(`${baseUrl}/admin/users`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...operator, account_codes: [], scopes: SCOPES }),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return operator;
}
