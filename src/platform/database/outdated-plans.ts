import type { Pool, PoolClient, QueryResult } from 'pg';

/** The number of times that an outdated statement is sent, because a migration may change a table several times. */
const ATTEMPTS = 3;

/** The number of times that all prepared statements of the process have been renamed. */
let generation = 0;

/**
 * Sends a statement to PostgreSQL.
 *
 * A migration of the next release may add a column to a table while this process runs. PostgreSQL then refuses every
 * prepared statement whose result has this column ("cached plan must not change result type"), on each connection that
 * has prepared it. After the first refusal, all statements get new names, so that each connection prepares them again.
 * The refused statement is sent again, except in a transaction, which its unit of work repeats.
 */
export async function send<Row extends object>(
  on: Pool | PoolClient,
  { name, text }: { name?: string; text: string },
  values: unknown[],
  isInTransaction: boolean,
): Promise<QueryResult<Row>> {
  for (let attempt = 1; ; attempt++) {
    const sentIn = generation;
    try {
      return await on.query<Row>({ name: name && sentIn > 0 ? `${name} ${sentIn}` : name, text, values });
    } catch (error) {
      if (!isOutdated(error)) throw error;
      if (sentIn === generation) generation++;
      if (isInTransaction || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Returns whether PostgreSQL refused a statement because its result has other columns than when it was prepared. */
export function isOutdated(error: unknown): boolean {
  return (error as { routine?: unknown } | null)?.routine === 'RevalidateCachedQuery';
}
