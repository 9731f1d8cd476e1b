import {
  ACCOUNT,
  ACCOUNTS,
  hasAccount,
  isNullTest,
  NAMED,
  namesOf,
  NONE,
  ONLY_ROW,
  pairsOf,
  parametersOf,
  renamed,
  stripped,
  worst,
  type Block,
  type Found,
  type Origin,
  type Source,
} from './bound-parts';
import type { Schema } from './schema';
import { nameOf, type Tree, walk } from './sql-tree';

/**
 * Analyses a statement from its outermost query inwards, and finds tables with an account column that no condition
 * limits to an account (account-bounds.ts).
 */
export class Reading {
  constructor(
    private readonly schema: Schema,
    /** Whether a key that is passed as a parameter limits the statement to an account. */
    private readonly keysInHand: boolean,
  ) {}

  of(tree: Tree, outer: Block | null, known: ReadonlyMap<string, Found>): Found {
    const [kind, node] = Object.entries(tree as Record<string, Tree>)[0];
    if (kind === 'SelectStmt') return this.select(node, outer, known);
    if (kind === 'InsertStmt') return this.insert(node, outer, known);
    if (kind === 'UpdateStmt' || kind === 'DeleteStmt') return this.change(node, outer, known);
    if (kind === 'LockStmt' || kind === 'TruncateStmt') {
      const open = [...walk(node.relations)].map(([, { relname }]) => relname as string);
      return {
        open: open.filter((name) => name !== undefined && hasAccount(this.schema, name)),
        origin: 'open',
        columns: null,
      };
    }
    // A statement of another kind that contains a query, such as EXPLAIN or COPY (…), is reported, because its query is
    // not analysed.
    const inner = [...walk(node)].filter(([name]) => /^(Select|Insert|Update|Delete|Merge|Copy)Stmt$/.test(name));
    return { open: inner.length === 0 ? [] : [`(${kind})`], origin: 'given', columns: null };
  }

  /** Analyses the queries of a WITH clause in order, because each query may use the earlier queries. */
  private withOf(node: Tree, outer: Block | null, known: ReadonlyMap<string, Found>): [Map<string, Found>, string[]] {
    const ctes = new Map(known);
    const open: string[] = [];
    for (const { CommonTableExpr: cte } of (node.withClause?.ctes ?? []) as Tree[]) {
      // While a recursive query is analysed, its references to itself count as limited to an account.
      if (node.withClause.recursive) ctes.set(cte.ctename, { open: [], origin: 'given', columns: null });
      const found = this.of(cte.ctequery, outer, ctes);
      open.push(...found.open);
      ctes.set(cte.ctename, { ...found, open: [] });
    }
    return [ctes, open];
  }

  private select(node: Tree, outer: Block | null, known: ReadonlyMap<string, Found>): Found {
    const [ctes, open] = this.withOf(node, outer, known);
    if (node.op !== 'SETOP_NONE') {
      const [left, right] = [node.larg, node.rarg].map((part) => this.select(part, outer, ctes));
      return {
        open: [...open, ...left.open, ...right.open],
        origin: worst([left.origin, right.origin]),
        columns: left.columns,
      };
    }
    const block: Block = { sources: [], conditions: [], outer, ctes };
    for (const part of node.fromClause ?? []) this.join(part, block);
    return this.settled(block, node, open, node.targetList);
  }

  private change(node: Tree, outer: Block | null, known: ReadonlyMap<string, Found>): Found {
    const [ctes, open] = this.withOf(node, outer, known);
    const block: Block = { sources: [], conditions: [], outer, ctes };
    this.join({ RangeVar: node.relation }, block);
    for (const part of [...(node.fromClause ?? []), ...(node.usingClause ?? [])]) this.join(part, block);
    return this.settled(block, node, open, node.returningList);
  }

  private insert(node: Tree, outer: Block | null, known: ReadonlyMap<string, Found>): Found {
    const [ctes, open] = this.withOf(node, outer, known);
    const table = node.relation.relname as string;
    const rows = node.selectStmt ? this.of(node.selectStmt, outer, ctes) : null;
    open.push(...(rows?.open ?? []));
    const conflict = node.onConflictClause;
    if (
      conflict?.action === 'ONCONFLICT_UPDATE' &&
      hasAccount(this.schema, table) &&
      !this.conflictsWithin(table, conflict.infer)
    )
      open.push(table);
    const origin = hasAccount(this.schema, table) && rows?.origin !== 'open' ? 'bound' : (rows?.origin ?? 'given');
    const target = this.sourceOf(node.relation, ctes);
    target.origin = origin;
    const block: Block = { sources: [target], conditions: [], outer, ctes };
    open.push(...this.within([node.returningList, conflict?.targetList, conflict?.whereClause], block).open);
    return { open, origin, columns: namesOf(node.returningList, block) };
  }

  private conflictsWithin(table: string, infer: Tree): boolean {
    const { constraints } = this.schema.get(table)!;
    const columns: readonly string[] = infer?.conname
      ? (constraints.get(infer.conname as string) ?? [])
      : (infer?.indexElems ?? []).map(({ IndexElem: element }: Tree) => element.name as string);
    return columns.includes(ACCOUNT);
  }

  private sourceOf(node: Tree, ctes: ReadonlyMap<string, Found>): Source {
    const table = node.relname as string;
    const cte = node.schemaname ? undefined : ctes.get(table);
    const name = nameOf(node);
    if (cte) return { name, table: null, columns: cte.columns, keys: NONE, origin: cte.origin };
    const known = this.schema.get(table);
    return {
      name,
      table,
      columns: known?.columns ?? null,
      keys: new Set([...(known?.keys ?? []), ...(NAMED[table] ?? [])]),
      origin: ONLY_ROW.has(table) ? 'given' : 'open',
    };
  }

  /**
   * Adds the tables and conditions of a part of a FROM clause to the query block, and returns the sources of that part.
   */
  private join(part: Tree, block: Block): Source[] {
    const add = (source: Source): Source[] => (block.sources.push(source), [source]);
    if (part.RangeVar) return add(this.sourceOf(part.RangeVar, block.ctes));
    if (part.RangeSubselect) {
      const { subquery, alias } = part.RangeSubselect;
      const again = () => this.of(subquery, block, block.ctes).origin;
      const columns = renamed(alias) ?? this.of(subquery, block, block.ctes).columns;
      return add({ name: alias?.aliasname ?? '', table: null, columns, keys: NONE, origin: 'open', again });
    }
    if (part.RangeFunction) {
      const { functions, alias, coldeflist } = part.RangeFunction;
      const listed = (coldeflist ?? []).map(({ ColumnDef: { colname } }: Tree) => colname as string);
      const columns = listed.length > 0 ? new Set<string>(listed) : renamed(alias);
      const name = (alias?.aliasname ?? '') as string;
      const again = () => this.originOf(functions, block);
      // If a function in FROM returns a single column, this column has the name of the function.
      return add({ name, table: null, columns: columns ?? new Set([name]), keys: NONE, origin: 'open', again });
    }
    const { jointype, larg, rarg, quals, usingClause } = part.JoinExpr;
    const left = this.join(larg, block);
    const right = this.join(rarg, block);
    const bounds =
      jointype === 'JOIN_INNER'
        ? [...left, ...right]
        : jointype === 'JOIN_LEFT'
          ? right
          : jointype === 'JOIN_RIGHT'
            ? left
            : [];
    if (quals) block.conditions.push({ term: quals, bounds });
    for (const { String: column } of (usingClause ?? []) as Tree[])
      block.conditions.push({ term: { using: column.sval, left, right }, bounds });
    return [...left, ...right];
  }

  /**
   * Evaluates the conditions repeatedly until no further table is found to be limited to an account. Repetition is
   * needed because a limited table can limit the tables that are joined to it.
   */
  private settled(block: Block, node: Tree, before: readonly string[], list: Tree): Found {
    if (node.whereClause) block.conditions.push({ term: node.whereClause, bounds: block.sources });
    for (let changed = true; changed;) {
      changed = false;
      for (const source of block.sources.filter(({ origin }) => origin === 'open')) {
        const origin = source.again?.() ?? (this.isBound(source, block) ? 'bound' : 'open');
        changed ||= origin !== 'open';
        source.origin = origin;
      }
    }
    const inner = this.within([node.targetList, node.valuesLists, node.returningList, node.fromClause, node.usingClause,
      node.whereClause, node.havingClause, node.sortClause, node.groupClause, node.limitCount, node.limitOffset], block); // prettier-ignore
    const open = block.sources.filter(
      ({ origin, table }) => origin === 'open' && table !== null && hasAccount(this.schema, table),
    );
    return {
      open: [...before, ...inner.open, ...open.map(({ table }) => table!)],
      origin: worst([...block.sources.map(({ origin }) => origin), this.within([node.targetList], block).origin]),
      columns: namesOf(list, block),
    };
  }

  /** Analyses the subqueries within expressions. */
  private within(expressions: Tree, block: Block): Found {
    const open: string[] = [];
    const origins: Origin[] = [];
    const visit = (tree: Tree): void => {
      if (Array.isArray(tree)) for (const one of tree) visit(one);
      else if (tree !== null && typeof tree === 'object') {
        if (tree.SelectStmt) {
          const found = this.of(tree, block, block.ctes);
          open.push(...found.open);
          origins.push(found.origin);
        } else for (const value of Object.values(tree as object)) visit(value);
      }
    };
    visit(expressions);
    return { open, origin: worst(origins), columns: null };
  }

  private isBound(source: Source, block: Block): boolean {
    return block.conditions.some(({ term, bounds }) => bounds.includes(source) && this.binds(term, source, block));
  }

  private binds(term: Tree, source: Source, block: Block): boolean {
    if (term.using !== undefined) {
      const others = ((term.left as Source[]).includes(source) ? term.right : term.left) as Source[];
      return others
        .filter(({ columns }) => columns === null || columns.has(term.using as string))
        .some(({ origin }) => this.fits(source, term.using as string, origin));
    }
    if (term.BoolExpr) {
      const args = term.BoolExpr.args as Tree[];
      if (term.BoolExpr.boolop === 'AND_EXPR') return args.some((arg) => this.binds(arg, source, block));
      if (term.BoolExpr.boolop !== 'OR_EXPR') return false;
      const [rest, nulls] = [args.filter((arg) => !isNullTest(arg)), args.filter(isNullTest)];
      const given = new Set(rest.flatMap(parametersOf));
      // In `$1 IS NULL OR account_code = ANY ($1)`, both occurrences of `$1` must be the same parameter, which lists
      // the accounts.
      const isOperator = nulls.every(
        (arg) => this.originOf(arg, block) === 'given' && parametersOf(arg).every((it) => given.has(it)),
      );
      return rest.length > 0 && isOperator && rest.every((arg) => this.binds(arg, source, block));
    }
    if (term.SubLink) {
      // `IN` and `= ANY` mean the same. In the parse tree, `IN` has no operator, and `= ANY` has the operator `=`.
      const { subLinkType, operName } = term.SubLink;
      const isEqual =
        subLinkType === 'ANY_SUBLINK' && [undefined, '='].includes(operName?.at(-1).String.sval as undefined);
      return isEqual && this.isAmong(term.SubLink, source, block);
    }
    if (!term.A_Expr) return false;
    const { kind, lexpr, rexpr } = term.A_Expr;
    const operator = term.A_Expr.name.at(-1).String.sval as string;
    if (operator === '&&' || operator === '@>')
      return [[lexpr, rexpr], [rexpr, lexpr]].some(([column, value], at) =>
        (operator === '&&' || at === 0) &&
        ACCOUNTS.has(this.columnOf(column, source, block) ?? '') && this.originOf(value, block) !== 'open'); // prettier-ignore
    // The accounts of a job are in the `account_codes` member of its JSON filter.
    if (
      operator === '<@' &&
      lexpr.A_Expr?.name.at(-1).String.sval === '->' &&
      lexpr.A_Expr.rexpr.A_Const?.sval?.sval === 'account_codes'
    )
      return this.columnOf(lexpr.A_Expr.lexpr, source, block) !== null && this.originOf(rexpr, block) !== 'open';
    if (operator !== '=' || !['AEXPR_OP', 'AEXPR_OP_ANY', 'AEXPR_IN'].includes(kind as string)) return false;
    const pairs = kind === 'AEXPR_OP' ? pairsOf(lexpr, rexpr) : [[lexpr, rexpr]];
    return pairs.some(([left, right]) => {
      const one = this.columnOf(left, source, block);
      if (one !== null && this.fits(source, one, this.originOf(right, block))) return true;
      const other = this.columnOf(right, source, block);
      if (other === null) return false;
      if (kind === 'AEXPR_OP_ANY') return ACCOUNTS.has(other) && this.originOf(left, block) !== 'open';
      return this.fits(source, other, this.originOf(left, block));
    });
  }

  /** Returns whether `key IN (SELECT …)` or `(a, key) IN (SELECT …)` limits the source to an account. */
  private isAmong({ testexpr, subselect }: Tree, source: Source, block: Block): boolean {
    const origin = this.of(subselect, block, block.ctes).origin;
    const columns = (testexpr.RowExpr?.args ?? [testexpr]) as Tree[];
    return columns.some((column) => {
      const name = this.columnOf(column, source, block);
      return name !== null && this.fits(source, name, origin);
    });
  }

  private fits(source: Source, column: string, origin: Origin): boolean {
    if (column === ACCOUNT) return origin !== 'open';
    return source.keys.has(column) && (origin === 'bound' || (origin === 'given' && this.keysInHand));
  }

  /** Returns the column's name if the expression is a column of the source; otherwise null. */
  private columnOf(expression: Tree, source: Source, block: Block): string | null {
    const fields = stripped(expression)?.ColumnRef?.fields as Tree[] | undefined;
    if (!fields || fields.at(-1).A_Star) return null;
    return this.sourcesNamedBy(fields, block).includes(source) ? (fields.at(-1).String.sval as string) : null;
  }

  private sourcesNamedBy(fields: Tree[], block: Block): Source[] {
    const [first, last] = [fields[0], fields.at(-1)].map((field) => field?.String?.sval as string | undefined);
    for (let at: Block | null = block; at; at = at.outer) {
      const found = at.sources.filter(({ name, columns, table }) =>
        fields.length > 1
          ? name === first || (first === 'excluded' && table !== null)
          : columns?.has(last!) || (name === last && table === null),
      );
      if (found.length > 0) return found;
      if (fields.length === 1) {
        const unknown = at.sources.filter(({ columns }) => columns === null);
        if (unknown.length > 0) return unknown;
      }
    }
    return [];
  }

  /** Returns the origin of the columns and subqueries of an expression; `given` if the expression has neither. */
  private originOf(expression: Tree, block: Block): Origin {
    const origins: Origin[] = [];
    const visit = (tree: Tree): void => {
      if (Array.isArray(tree)) for (const one of tree) visit(one);
      else if (tree !== null && typeof tree === 'object') {
        if (tree.SelectStmt) origins.push(this.of(tree, block, block.ctes).origin);
        else if (tree.ColumnRef) {
          const sources = this.sourcesNamedBy(tree.ColumnRef.fields, block);
          // A column that USING merges is limited to an account if it is limited in one of the merged tables.
          const known = sources.find(({ origin }) => origin !== 'open');
          origins.push(sources.length === 0 ? 'open' : (known?.origin ?? 'open'));
        } else for (const value of Object.values(tree as object)) visit(value);
      }
    };
    visit(expression);
    return worst(origins);
  }
}
