import { loadModule, parseSync } from 'libpg-query';

/**
 * A node of PostgreSQL's parse tree in the form of libpg-query: `{ SelectStmt: { … } }`, or the content of such an
 * object.
 */

export type Tree = any;

export interface Touched {
  readonly table: string;
  /** Whether the SQL statement writes or locks rows of the table. */
  readonly changes: boolean;
}

/** Loads PostgreSQL's parser. Await the returned promise before any statement is parsed. */
export const loadParser = loadModule;

/**
 * Parses SQL, and returns the parse trees of its statements.
 * @throws Error with PostgreSQL's message, when the text is not SQL
 */
export function statementsOf(text: string): Tree[] {
  return (parseSync(text).stmts ?? []).map(({ stmt }: Tree) => stmt);
}

/** Yields every object of the tree, including the root, with its kind. */
export function* walk(tree: Tree, kind = ''): Generator<[string, Tree]> {
  if (Array.isArray(tree)) for (const one of tree) yield* walk(one, kind);
  else if (tree !== null && typeof tree === 'object') {
    yield [kind, tree];
    for (const [name, value] of Object.entries(tree)) yield* walk(value, name);
  }
}

const WRITES = new Set(['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt']);

const isRelation = (kind: string): boolean => kind === 'RangeVar' || kind === 'relation';

/**
 * Returns the tables that a statement or its subqueries name. Each table is marked if the statement writes or locks its
 * rows.
 */
export function tablesOf(text: string): Touched[] {
  const tree = statementsOf(text);
  const changed = new Set<Tree>();
  const change = (part: Tree): void => {
    for (const [kind, node] of walk(part)) if (isRelation(kind) || node === part) changed.add(node);
  };
  for (const [kind, node] of walk(tree)) {
    if (WRITES.has(kind)) change(node.relation);
    if (kind === 'LockStmt' || kind === 'TruncateStmt') change(node.relations);
    if (kind === 'CopyStmt' && node.is_from) change(node.relation);
    for (const { LockingClause: lock } of (node.lockingClause ?? []) as Tree[]) {
      const names: string[] = (lock.lockedRels ?? []).map((locked: Tree) => locked.RangeVar.relname as string);
      for (const [at, part] of walk(node.fromClause))
        // FOR UPDATE without OF locks rows of all tables in the FROM clause, including the tables of its subqueries.
        if (names.length === 0 ? isRelation(at) : names.includes(nameOf(part))) change(part);
    }
  }
  const found = new Map<string, Touched>();
  for (const [kind, node] of walk(tree)) {
    // The names in `FOR UPDATE OF …` are skipped, because they repeat names of the FROM clause.
    if (!isRelation(kind) || typeof node.relname !== 'string') continue;
    const touched = { table: node.relname as string, changes: changed.has(node) };
    found.set(`${touched.table} ${touched.changes}`, touched);
  }
  return [...found.values()];
}

/** Returns the name that a part of a FROM clause has in its query. */
export function nameOf(source: Tree): string {
  return (source.alias?.aliasname ?? source.relname ?? '') as string;
}
