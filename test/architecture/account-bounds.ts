import type { Schema } from './schema';
import type { SqlText } from './sql-texts';
import { ACCOUNT, ACCOUNTS, hasAccount } from './bound-parts';
import { Reading } from './bound-reading';
import { statementsOf, tablesOf } from './sql-tree';

/** The faults of a statement on tables with an account. */
export const BOUND_RULES = [
  'bounds-the-account',
  'gives-no-needless-reason',
  'reads-by-key',
  'answers-with-the-account',
  'gives-reason-of-its-place',
] as const;

/** Where a reason may be given that belongs to one part of the service; the others may be given anywhere. */
const PLACES: Readonly<Record<string, RegExp>> = {
  matching: /^src\/(results\/|platform\/platform-personal-data)/,
  relay: /^src\/platform\/events\//,
  rights: /^src\/auth\//,
  sealing: /^src\/platform\/audit\//,
  workers: /^src\/(imports|notifications\/delivery|privacy)\//,
};
const BY_KEY = new Set(['keyInHand', 'checkedByCaller']);

/** The rules that a statement breaks. */
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
 * Which tables with an account a statement reads or changes without bounding the account.
 *
 * A table is bound in its query when a condition that every row must fulfil (a term of WHERE, of the ON of a join, or USING) says
 * 1. that its account equals, or is one of, what is *given*: parameters and what functions make of them; or what a bound row says;
 *    `($1 IS NULL OR account_code = ANY ($1))` counts, as null stands for an operator, who is bound by no account;
 * 2. or that one of its keys equals a column of a bound row, or is among the rows of a bound subquery. A key is a column that
 *    is by itself a primary key, a unique key or a foreign key: what is joined by it is the same thing, of the same account.
 *    Other columns, such as a candidate's id, are the same in many accounts.
 *
 * A key that is given bounds nothing: whoever passes it says where they have it from, by a reason (`acrossAccounts`).
 * A row that is inserted brings its account along; ON CONFLICT DO UPDATE must conflict on a key that holds the account, or one
 * of rule 2. Of an OR, every branch must bound.
 */
function unboundIn(text: string, schema: Schema, keysInHand = false): string[] {
  const reading = new Reading(schema, keysInHand);
  return [...new Set(statementsOf(text).flatMap((statement) => reading.of(statement, null, new Map()).open))].sort();
}

/** Whether the statement answers with the account of each row, so that whoever runs it can compare it with the caller's. */
function answersWithAccount(text: string, schema: Schema): boolean {
  const reading = new Reading(schema, true);
  return statementsOf(text).every((statement) => {
    const { columns } = reading.of(statement, null, new Map());
    return columns === null || [ACCOUNT, ...ACCOUNTS, 'reached'].some((column) => columns.has(column));
  });
}
