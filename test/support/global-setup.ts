import './resolve-ts';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres';
import { migrate } from '../../src/platform/database/migrate';
import { TEMPLATE } from './database';

/** One PostgreSQL for the whole run, with one migrated template that every test file clones. */
export default async function globalSetup(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'eligibility-test-'));
  chmodSync(dataDir, 0o755);
  // What the tests write need not outlive them; durability is proved on servers of their own.
  const settings = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', max_connections: '300' };
  const server = await startEmbeddedPostgres({ dataDir, database: TEMPLATE, settings });
  await migrate(server.url);
  const client = new pg.Client({ connectionString: server.url.replace(/[^/]+$/, 'postgres') });
  await client.connect();
  await client.query(`ALTER DATABASE ${TEMPLATE} IS_TEMPLATE true ALLOW_CONNECTIONS false`);
  await client.end();
  process.env['TEST_POSTGRES_URL'] = server.url;
  writeFileSync(join(dataDir, 'test-run'), String(process.pid));
  (globalThis as Record<string, unknown>)['__postgres'] = { server, dataDir };
}
