import './resolve-ts';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres';
import { migrate } from '../../src/platform/database/migrate';
import { TEMPLATE } from './database';

/**
 * Starts one PostgreSQL for the whole run, with a migrated template database that every test file clones. To test
 * another release of PostgreSQL, set `TEST_SERVER_URL` to a superuser's URL for an unused server
 * (test/proof/drill/oldest-postgres.ts).
 */
export default async function globalSetup(): Promise<void> {
  execFileSync(process.execPath, [join(__dirname, '../../scripts/build-console.mjs')], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const given = process.env['TEST_SERVER_URL'];
  const url = given === undefined ? await startOwn() : await createTemplate(given);
  await migrate(url);
  const client = new pg.Client({ connectionString: url.replace(/[^/]+$/, 'postgres') });
  await client.connect();
  await client.query(`ALTER DATABASE ${TEMPLATE} IS_TEMPLATE true ALLOW_CONNECTIONS false`);
  await client.end();
  process.env['TEST_POSTGRES_URL'] = url;
}

async function startOwn(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'eligibility-test-'));
  chmodSync(dataDir, 0o755);
  // Durability is off, because test data need not survive a crash. Tests of durability start their own servers.
  const settings = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', max_connections: '300' };
  const server = await startEmbeddedPostgres({ dataDir, database: TEMPLATE, settings });
  writeFileSync(join(dataDir, 'test-run'), String(process.pid));
  (globalThis as Record<string, unknown>)['__postgres'] = { server, dataDir };
  return server.url;
}

async function createTemplate(server: string): Promise<string> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(`CREATE DATABASE ${TEMPLATE}`);
  await client.end();
  return server.replace(/[^/]+$/, TEMPLATE);
}
