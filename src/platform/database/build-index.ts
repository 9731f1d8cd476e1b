import type { QueryRunner } from 'typeorm';

/**
 * The lock timeout of a schema change. A change that does not get its lock in time is cancelled and retried, so that
 * other statements are not blocked. A migration may change four tables in one transaction, and wait for a lock on each.
 * The migration must give up within one second, because PostgreSQL looks for a deadlock after that time, and might
 * abort the other statement instead of the migration.
 */
export const MIGRATION_LOCK_TIMEOUT = '250ms';

/**
 * Builds an index while the table stays writable. An invalid index that an interrupted attempt left behind is dropped
 * first. Call this function in a separate migration with `transaction = false`.
 *
 * @param on the part of CREATE INDEX after the name, for example `ON bookings (account_code, booking_code)`
 */
export async function buildIndex(runner: QueryRunner, name: string, on: string, unique = false): Promise<void> {
  // The lock timeout is off while an index is built, because CREATE INDEX CONCURRENTLY waits for every older
  // transaction without blocking any of them.
  await runner.query(`SET lock_timeout = 0`);
  await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  await runner.query(`CREATE ${unique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY ${name} ${on}`);
  await runner.query(`SET lock_timeout = '${MIGRATION_LOCK_TIMEOUT}'`);
}
