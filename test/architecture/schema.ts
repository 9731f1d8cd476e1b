import type { Loader } from './loader';
import { sourcesIn } from './sources';
import { statementsOf, type Tree, walk } from './sql-tree';

interface Table {
  readonly columns: Set<string>;
  /** The columns of the table that are, each on its own, a primary key, a unique key or a foreign key. */
  readonly keys: Set<string>;
  /** The columns of each unique constraint of a table, by the name of the constraint. */
  readonly constraints: Map<string, readonly string[]>;
}

export type Schema = ReadonlyMap<string, Table>;

interface Migration {
  up(runner: { query(text: string): Promise<unknown[]> }): Promise<void>;
}

/** Returns the tables that the migrations create, read by PostgreSQL's parser. */
export async function schemaOf(root: string, loader: Loader): Promise<Schema> {
  const schema = new Map<string, Table>();
  for (const file of sourcesIn(root).filter((name) => name.startsWith('src/migrations/')))
    for (const made of Object.values(loader.load(file).exports)) {
      const texts: string[] = [];
      const query = (text: string) => Promise.resolve((texts.push(text), []));
      await new (made as new () => Migration)().up({ query });
      for (const text of texts) for (const statement of statementsOf(text)) apply(schema, statement);
    }
  return schema;
}

function apply(schema: Map<string, Table>, statement: Tree): void {
  if (statement.CreateStmt) {
    const { relation, tableElts } = statement.CreateStmt;
    const table: Table = { columns: new Set(), keys: new Set(), constraints: new Map() };
    schema.set(relation.relname, table);
    for (const element of tableElts ?? []) define(table, element);
  }
  if (statement.AlterTableStmt) {
    const table = schema.get(statement.AlterTableStmt.relation.relname);
    for (const { AlterTableCmd: change } of statement.AlterTableStmt.cmds)
      if (table && change.def) define(table, change.def);
  }
  if (statement.IndexStmt?.unique && !statement.IndexStmt.whereClause) {
    const { relation, indexParams } = statement.IndexStmt;
    const names: string[] = indexParams.map(({ IndexElem: { name } }: Tree) => name as string);
    if (names.length === 1 && names[0]) schema.get(relation.relname)?.keys.add(names[0]);
  }
  if (statement.DropStmt?.removeType === 'OBJECT_TABLE')
    for (const [, list] of walk(statement.DropStmt.objects, 'List')) {
      const name = list.items?.at(-1)?.String?.sval as string | undefined;
      if (name) schema.delete(name);
    }
}

const KEYS = new Set(['CONSTR_PRIMARY', 'CONSTR_UNIQUE', 'CONSTR_FOREIGN']);

function define(table: Table, { ColumnDef: column, Constraint: constraint }: Tree): void {
  if (column) table.columns.add(column.colname);
  const all: [Tree, string[]][] = column
    ? (column.constraints ?? []).map((one: Tree) => [one.Constraint, [column.colname]])
    : [[constraint, (constraint?.keys ?? constraint?.fk_attrs ?? []).map((key: Tree) => key.String.sval as string)]];
  for (const [found, columns] of all) {
    if (!found || !KEYS.has(found.contype)) continue;
    if (columns.length === 1) table.keys.add(columns[0]);
    if (found.conname) table.constraints.set(found.conname, columns);
  }
}
