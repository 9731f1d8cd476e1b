import type { Schema } from './schema';
import { type Tree, walk } from './sql-tree';

/**
 * The origin of a value in SQL. A `given` value comes only from parameters, a `bound` value from rows that are limited
 * to an account, and an `open` value from other rows.
 */
export type Origin = 'given' | 'bound' | 'open';

export interface Source {
  readonly name: string;
  readonly table: string | null;
  readonly columns: ReadonlySet<string> | null;
  readonly keys: ReadonlySet<string>;
  origin: Origin;
  /** Evaluates a subquery again, after further tables of the query were found to be limited to an account. */
  readonly again?: () => Origin;
}

interface Condition {
  readonly term: Tree;
  /**
   * The tables and subqueries that a condition may limit to an account. For an outer join, they are only those on the
   * nullable side of the join.
   */
  readonly bounds: readonly Source[];
}

export interface Block {
  readonly sources: Source[];
  readonly conditions: Condition[];
  readonly outer: Block | null;
  readonly ctes: ReadonlyMap<string, Found>;
}

export interface Found {
  readonly open: string[];
  readonly origin: Origin;
  readonly columns: ReadonlySet<string> | null;
}

export const ACCOUNT = 'account_code';
export const ACCOUNTS = new Set(['account_codes', 'staff_account_codes']);
/**
 * Columns that refer to another table without a foreign key. They have no foreign key because the reference is kept as
 * history after the row in the other table has been deleted.
 */
export const NAMED: Readonly<Record<string, readonly string[]>> = {
  audit_log: ['subject'],
  changes: ['svc_eligiblity_id', 'booking_code'],
  domain_events: ['stream'],
  job_items: ['job_id', 'notification_position'],
  notifications: ['booking_code'],
};
/** Tables with a single row, which belongs to no account. The values of this row count as parameters. */
export const ONLY_ROW: ReadonlySet<string> = new Set(['change_epoch']);
export const NONE: ReadonlySet<string> = new Set();

export const worst = (origins: readonly Origin[]): Origin =>
  origins.includes('open') ? 'open' : origins.includes('bound') ? 'bound' : 'given';

export const hasAccount = (schema: Schema, table: string): boolean =>
  [ACCOUNT, ...ACCOUNTS].some((column) => schema.get(table)?.columns.has(column));

export const isNullTest = (term: Tree): boolean => term.NullTest?.nulltesttype === 'IS_NULL';

export const stripped = (expression: Tree): Tree =>
  expression?.TypeCast ? stripped(expression.TypeCast.arg) : expression;

export const parametersOf = (tree: Tree): number[] =>
  [...walk(tree)].filter(([kind]) => kind === 'ParamRef').map(([, { number }]) => number as number);

export function pairsOf(left: Tree, right: Tree): [Tree, Tree][] {
  const [lefts, rights] = [left, right].map((side) => side?.RowExpr?.args as Tree[] | undefined);
  return lefts && rights ? lefts.map((one, at) => [one, rights[at]]) : [[left, right]];
}

export function renamed(alias: Tree): ReadonlySet<string> | null {
  const names = (alias?.colnames ?? []).map(({ String: { sval } }: Tree) => sval as string);
  return names.length > 0 ? new Set(names) : null;
}

/**
 * Returns the names of the columns in a query's result; null when the query selects `*` from a source with unknown
 * columns.
 */
export function namesOf(list: Tree, { sources }: Block): ReadonlySet<string> | null {
  const names = new Set<string>();
  for (const { ResTarget: target } of (list ?? []) as Tree[]) {
    const fields = target.val?.ColumnRef?.fields as Tree[] | undefined;
    if (fields?.at(-1).A_Star) {
      const from = sources.filter(({ name }) => fields.length === 1 || name === fields[0].String.sval);
      for (const { columns } of from) {
        if (columns === null) return null;
        for (const column of columns) names.add(column);
      }
    } else
      names.add(
        (target.name ??
          fields?.at(-1).String.sval ??
          target.val?.FuncCall?.funcname?.at(-1).String.sval ??
          '') as string,
      );
  }
  return names;
}
