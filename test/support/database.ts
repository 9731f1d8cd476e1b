import { randomBytes } from 'node:crypto';
import pg from 'pg';

export const TEMPLATE = 'eligibility_template';

/** Creates a separate database, which is either migrated and empty, or has no tables. `drop` deletes the database. */
export async function cloneDatabase({ migrated = true } = {}): Promise<{ url: string; drop(): Promise<void> }> {
  const server = process.env['TEST_POSTGRES_URL'];
  if (!server) throw new Error('The global setup of the tests has not run.');
  const admin = server.replace(/[^/]+$/, 'postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await once(admin, `CREATE DATABASE ${name} TEMPLATE ${migrated ? TEMPLATE : 'template0'}`);
  return {
    url: server.replace(/[^/]+$/, name),
    drop: () => once(admin, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function once(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
