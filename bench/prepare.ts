import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { SCOPES } from '../src/platform/context/caller.js';
import { randomCode, randomToken, sha256 } from '../src/platform/secrets.js';

/** The code of the only test in the account that {@link prepare} creates. The test has one portion. */
export const TEST_CODE = 'BENCH';

async function retrying<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 40) throw error;
      await pause(250);
    }
  }
}

/** Runs a statement on a separate connection, with retries while the database is unavailable. */
export function query(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  return retrying(async () => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text, values)).rows;
    } finally {
      await client.end();
    }
  });
}

/** Creates an account with a test, a user and an application. Returns a token for them, by default with all rights. */
export async function prepare(
  url: string,
  username = 'bench',
  scopes: readonly string[] = SCOPES,
): Promise<{ account: string; token: string }> {
  const account = randomCode(12);
  await query(url, `INSERT INTO accounts (account_code, name) VALUES ($1, 'Bench')`, [account]);
  await query(url, `INSERT INTO tests (account_code, test_code, name) VALUES ($1, '${TEST_CODE}', 'Bench')`, [account]);
  await query(url, `INSERT INTO test_portions VALUES ($1, '${TEST_CODE}', 'MAIN', 'Main', 0)`, [account]);
  return { account, token: await newToken(url, username, scopes) };
}

/** Creates a user and an application for the partner of a subscription. Returns a token for them. */
export async function preparePartner(url: string, subscriptionId: string): Promise<string> {
  const username = `partner ${subscriptionId}`;
  const token = await newToken(url, username, ['partner']);
  await query(url, 'UPDATE users SET subscription_ids = $1 WHERE username = $2', [[subscriptionId], username]);
  return token;
}

/** Creates a user and an application with the given scopes. Returns a token that is valid for a day. */
async function newToken(url: string, username: string, scopes: readonly string[]): Promise<string> {
  const key = randomCode(20);
  const family = randomUUID();
  const token = randomToken();
  await query(url, `INSERT INTO users (username, password_hash, scopes) VALUES ($1, '$argon2id$none', $2)`, [
    username,
    scopes,
  ]);
  await query(
    url,
    `INSERT INTO applications (consumer_key, name, secret_hash, scopes, grants) VALUES ($1, 'bench', $2, $3, '{password}')`,
    [key, randomBytes(32), scopes],
  );
  await query(
    url,
    `INSERT INTO token_families (family_id, consumer_key, username, scopes, expires_at)
     VALUES ($1, $2, $3, $4, now() + interval '1 day')`,
    [family, key, username, scopes],
  );
  await query(
    url,
    `INSERT INTO access_tokens (token_hash, family_id, scopes, expires_at) VALUES ($1, $2, $3, now() + interval '1 day')`,
    [sha256(token), family, scopes],
  );
  return token;
}
