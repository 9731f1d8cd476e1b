import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createApp, listen } from '../src/app.js';
import { Config } from '../src/config.js';
import { SCOPES } from '../src/platform/context/caller.js';
import { Database } from '../src/platform/database/database.js';
import { migrate } from '../src/platform/database/migrate.js';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { prepare, query } from './prepare.js';
import { removeDataFolder } from './stage.js';

const BATCH = 20_000;
const SUBSCRIPTIONS = 20;

const SUBSCRIBE = `INSERT INTO subscriptions (id, account_code, partner_url, change_reasons, auth, auto_retry_on,
    signing_secret, state, health, next_probe_at, health_changed_at, created_datetime, updated_datetime)
  VALUES ($1, $2, 'https://partner.example', '{ABSENT}', '{"type": "none"}', '{500}', '\\x00', 'SUSPENDED', 'UP', NULL,
    NULL, now(), now())`;

const QUEUE = `INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code,
    event_sequence, effective_date, body, state, retry, failure, http_status, queued_datetime)
  SELECT gen_random_uuid(), ($1::uuid[])[1 + i % ${SUBSCRIPTIONS}], $2, 'ABSENT', 'B' || lpad(i::text, 9, '0'), 1, now(),
    '{"booking_code": "' || repeat('x', 400) || '"}', 'ERROR_QUEUE', 'MANUAL',
    (ARRAY['client_error', 'auth', 'tls', 'server_error'])[1 + i % 4], (ARRAY[400, 401, NULL, 503])[1 + i % 4], now()
  FROM generate_series($3::int, $4::int - 1) i`;

/** The service in this process, with its own PostgreSQL, an account, and a token with all rights. */
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
  // PostgreSQL may run as a different user. This user needs access to the folder.
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
    baseUrl: config.http.baseUrl,
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

/** Creates a user who has all rights in the console. */
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

/**
 * Fills an error queue with the given number of rows. The rows have four different causes of failure, and belong to
 * twenty suspended partners.
 * @returns the partners
 */
export async function fillQueue(database: Database, url: string, account: string, rows: number): Promise<string[]> {
  const subscriptions = Array.from({ length: SUBSCRIPTIONS }, () => randomUUID());
  for (const id of subscriptions) await database.query({ text: SUBSCRIBE }, [id, account]);
  for (let from = 0; from < rows; from += BATCH)
    await database.query({ text: QUEUE }, [subscriptions, account, from, Math.min(rows, from + BATCH)]);
  // The pause lets the service merge the counts of the error queue. Then the tables are vacuumed, as autovacuum would
  // do within a minute.
  await pause(3_000);
  await query(url, 'VACUUM ANALYZE notifications');
  await query(url, 'VACUUM error_queue_causes');
  return subscriptions;
}
