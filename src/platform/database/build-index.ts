import type { QueryRunner } from 'typeorm';

/**
 * A schema change that does not get its lock within this time is cancelled, so that traffic continues, and is retried.
 */
export const MIGRATION_LOCK_TIMEOUT = '2s';

/**
 * Builds an index while the table stays writable. Use it in a migration of its own with `transaction = false`. It first
 * drops an invalid index that a killed attempt left.
 *
 * @param on the part after the name: `ON bookings (account_code, booking_code)`
 */
export async function buildIndex(runner: QueryRunner, name: string, on: string, unique = false): Promise<void> {
  // The statement waits for every older transaction and blocks none of them.
  await runner.query(`SET lock_timeout = 0`);
  await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  await runner.query(`CREATE ${unique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY ${name} ${on}`);
  await runner.query(`SET lock_timeout = '${MIGRATION_LOCK_TIMEOUT}'`);
}
