import type { QueryRunner } from 'typeorm';

/** A change of the schema that does not get its lock within this time gives way to the traffic, and tries again. */
export const MIGRATION_LOCK_TIMEOUT = '2s';

/**
 * Builds an index while the table is written to. For a migration of its own with `transaction = false`; what an attempt that
 * was killed left is taken away first.
 *
 * @param on what stands after the name: `ON bookings (account_code, booking_code)`
 */
export async function buildIndex(runner: QueryRunner, name: string, on: string, unique = false): Promise<void> {
  // It waits for every transaction that is older, and holds up none of them.
  await runner.query(`SET lock_timeout = 0`);
  await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  await runner.query(`CREATE ${unique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY ${name} ${on}`);
  await runner.query(`SET lock_timeout = '${MIGRATION_LOCK_TIMEOUT}'`);
}
