import type { Schema } from './schema';
import type { SqlText } from './sql-texts';
import { ACCOUNT, ACCOUNTS, hasAccount } from './bound-parts';
import { Reading } from './bound-reading';
import { statementsOf, tablesOf } from './sql-tree';

/** The names of the rules for SQL statements on tables that have an account. */
export const BOUND_RULES = [
  'bounds-the-account',
  'gives-no-needless-reason',
  'reads-by-key',
  'answers-with-the-account',
  'gives-reason-of-its-place',
] as const;

/**
 * Maps each reason that a statement can declare for reading rows of several accounts to the folders in which the reason
 * is allowed. A reason that is not listed here is allowed in every folder.
 */
const PLACES: Readonly<Record<string, RegExp>> = {
  matching: /^src\/(results\/|platform\/platform-personal-data)/,
  relay: /^src\/platform\/events\//,
  rights: /^src\/auth\//,
  sealing: /^src\/platform\/audit\//,
  workers: /^src\/(imports|notifications\/delivery|privacy)\//,
};
const BY_KEY = new Set(['keyInHand', 'checkedByCaller']);

/** Returns those of the {@link BOUND_RULES} that an SQL statement breaks. */
export function brokenBounds({ file, text, across }: SqlText, schema: Schema): (typeof BOUND_RULES)[number][] {
  const unbound = unboundIn(text, schema);
  if (across === undefined) return unbound.length > 0 ? ['bounds-the-account'] : [];
  const isOfAccounts = tablesOf(text).some(({ table }) => hasAccount(schema, table));
  if (unbound.length === 0 && isOfAccounts) return ['gives-no-needless-reason'];
  if (PLACES[across]?.test(file) === false) return ['gives-reason-of-its-place'];
  if (BY_KEY.has(across) && unboundIn(text, schema, true).length > 0) return ['reads-by-key'];
  return across === 'checkedByCaller' && !answersWithAccount(text, schema) ? ['answers-with-the-account'] : [];
}

/**
 * Returns the tables with an account column that a statement reads or changes without limiting them to an account.
 *
 * A query limits a table to an account ("bounds" the table) by a condition that every row must fulfil. Such a condition
 * is a term in WHERE, in the ON clause of a join, or in USING. A condition of one of these two kinds bounds the table:
 * 1. The account of the row equals a *given* value, or is one of several *given* values. Given values are parameters,
 *    functions of parameters, and columns of a bound row. `($1 IS NULL OR account_code = ANY ($1))` counts, because
 *    null stands for an operator, who is not limited to an account.
 * 2. A key of the row equals a column of a bound row, or is among the rows of a bound subquery. A key is a column that
 *    alone is a primary key, a unique key or a foreign key, so that rows joined by the key belong to the same account.
 *    Other columns, such as a candidate's id, can be equal in many accounts.
 *
 * A key that is a parameter does not bound a table. The statement must then declare a reason that names the origin of
 * the key (`acrossAccounts`). An inserted row contains its account. ON CONFLICT DO UPDATE must conflict on a key that
 * contains the account, or on a key as in condition 2. Every branch of an OR must bound the table.
 */
function unboundIn(text: string, schema: Schema, keysInHand = false): string[] {
  const reading = new Reading(schema, keysInHand);
  return [...new Set(statementsOf(text).flatMap((statement) => reading.of(statement, null, new Map()).open))].sort();
}

/** Returns whether the statement returns the account of each row. The caller can then check the account. */
function answersWithAccount(text: string, schema: Schema): boolean {
  const reading = new Reading(schema, true);
  return statementsOf(text).every((statement) => {
    const { columns } = reading.of(statement, null, new Map());
    return columns === null || [ACCOUNT, ...ACCOUNTS, 'reached'].some((column) => columns.has(column));
  });
}
