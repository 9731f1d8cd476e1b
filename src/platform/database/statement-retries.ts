import type { Pool, PoolClient, QueryResult } from 'pg';

/**
 * The maximum number of times that a refused statement is sent. More than one retry is needed if a migration changes a
 * table several times.
 */
const ATTEMPTS = 5;

/** The number of times that all prepared statements of the process have been renamed. */
let generation = 0;

/**
 * Sends a statement to PostgreSQL.
 *
 * A migration of the next release may add a column to a table while this process runs. PostgreSQL then refuses every
 * prepared statement whose result has this column ("cached plan must not change result type"), on each connection that
 * has prepared it. After the first refusal, all statements get new names, so that each connection prepares them again.
 * Outside a transaction, the refused statement is sent again; inside a transaction, the unit of work repeats the whole
 * transaction. A statement that PostgreSQL aborted because of a deadlock, for example with a migration, is repeated in
 * the same way.
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
      if (isOutdated(error) && sentIn === generation) generation++;
      if (isInTransaction || attempt === ATTEMPTS || !mayBeRepeated(error)) throw error;
    }
  }
}

/**
 * Returns whether PostgreSQL refused a statement because the columns of its result have changed since it was prepared.
 */
function isOutdated(error: unknown): boolean {
  return (error as { routine?: unknown } | null)?.routine === 'RevalidateCachedQuery';
}

/** The SQLSTATEs of deadlocks and serialization failures, for which PostgreSQL aborts one of several transactions. */
const ENDED_FOR_ANOTHER = new Set(['40P01', '40001']);

/**
 * Returns whether the transaction may succeed if it is repeated immediately: PostgreSQL aborted it because of a
 * conflict with another transaction, or refused a statement that was prepared before its table was changed.
 */
export function mayBeRepeated(error: unknown): boolean {
  return isOutdated(error) || ENDED_FOR_ANOTHER.has(String((error as { code?: unknown }).code));
}
