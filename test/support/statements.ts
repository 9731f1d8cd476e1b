import { requestContext } from '../../src/platform/context/request-context';
import type { Statement } from '../../src/platform/database/database';
import type { TestApp } from './app';

/**
 * Runs `work`, and returns the SQL statements that requests execute meanwhile. Statements of background work are
 * omitted.
 */
export async function whatIsAsked<T>(
  { database }: TestApp,
  work: () => Promise<T>,
): Promise<{ done: T; asked: [Statement, unknown[] | undefined][] }> {
  const asked: [Statement, unknown[] | undefined][] = [];
  const real = database.query.bind(database) as (statement: Statement, values?: unknown[]) => Promise<never>;
  database.query = (statement, values) => {
    if (requestContext().requestId !== null) asked.push([statement, values]);
    return real(statement, values);
  };
  try {
    return { done: await work(), asked };
  } finally {
    database.query = real;
  }
}
