import { createRequire } from 'node:module';
import { join } from 'node:path';
import ts from 'typescript';
import { moduleOf, nodesOf, sourcesIn } from './sources';
import type { SqlText } from './sql-texts';
import { tablesOf } from './sql-tree';

/** An SQL statement that names a table of another module. */
export interface Arrow {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly table: string;
  /** Whether the statement writes or locks rows of the table. */
  readonly changes: boolean;
}

interface Direction {
  readonly name: string;
  readonly from: { readonly path: string };
  readonly to: { readonly path: string; readonly pathNot?: string };
}

const config = join(__dirname, '../../.dependency-cruiser.cjs');
const TABLE_TO_COME = /\b(FROM|JOIN|INTO|UPDATE|TABLE|ONLY)\s*$/;
/** Matches FROM, INTO and similar words only after an SQL verb, because ordinary sentences also contain these words. */
const TABLE_TO_COME_AFTER_VERB =
  /\b(select|delete|insert|update|truncate|lock)\b[^.]*\b(from|join|into|update|table|only)\s*$/;

/**
 * Returns the owner of each table, which is the module whose folder contains the table's entity. Throws an error when a
 * table has two owners.
 */
export function ownersIn(root: string): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const file of sourcesIn(root))
    for (const node of nodesOf(root, file)) {
      if (!ts.isCallExpression(node) || node.expression.getText() !== 'Entity') continue;
      const [name] = node.arguments;
      if (!name || !ts.isStringLiteral(name)) throw new Error(`${file}: an entity without the name of its table`);
      if (owners.has(name.text)) throw new Error(`${file}: ${name.text} has another entity`);
      owners.set(name.text, moduleOf(file) ?? '');
    }
  return owners;
}

/**
 * Returns the text of a string, or of a template without its interpolations. The interpolations are checked separately.
 */
function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map((span) => span.literal)].map((part) => part.text).join(' ');
  return null;
}

/** Returns the uses of tables by statements of modules that do not own the table. */
export function arrowsIn(statements: readonly SqlText[], owners: ReadonlyMap<string, string>): Arrow[] {
  const arrows = new Map<string, Arrow>();
  for (const { file, text } of statements) {
    const from = moduleOf(file);
    if (from === null) continue;
    for (const { table, changes } of tablesOf(text)) {
      const to = owners.get(table);
      if (to !== undefined && to !== from)
        arrows.set(`${file} ${table} ${changes}`, { file, from, to, table, changes });
    }
  }
  return [...arrows.values()];
}

/**
 * Returns the files that assemble the name of a table from parts, so that the source text does not contain the name.
 */
export function hiddenTablesIn(root: string): string[] {
  return sourcesIn(root).flatMap((file) =>
    nodesOf(root, file)
      .filter((node) => ts.isTemplateExpression(node))
      .filter((node) =>
        [node.head, ...node.templateSpans.slice(0, -1).map((span) => span.literal)].some(
          (part) => TABLE_TO_COME.test(part.text) || TABLE_TO_COME_AFTER_VERB.test(part.text),
        ),
      )
      .map(() => file),
  );
}

const VOLATILE = /\b(clock_timestamp|timeofday|random|nextval|setval|gen_random_uuid|pg_sleep)\s*\(/g;

/**
 * Returns the volatile SQL functions that the sources call, except in migrations and in the sandbox. An UPDATE
 * with such a function gives each row its own value, which can be neither repeated nor set by a test.
 */
export function volatileFunctionsIn(root: string): string[] {
  const found = sourcesIn(root)
    .filter((file) => !['migrations', 'sandbox'].includes(moduleOf(file) ?? ''))
    .flatMap((file) =>
      nodesOf(root, file)
        .map(textOf)
        .flatMap((text) => [...(text ?? '').matchAll(VOLATILE)].map(([, name]) => `${file}: ${name}`)),
    );
  return [...new Set(found)];
}

/**
 * Returns the rules that a module breaks by its access to another module's table. SQL may use the tables of a module
 * whose import is allowed. Only the owner of a table may change its rows.
 */
export function brokenBy({ from, to, changes }: Arrow): string[] {
  const { forbidden } = createRequire(__filename)(config) as { forbidden: Direction[] };
  const directions = forbidden
    .filter(({ name }) => name.startsWith('directions-of-') || name === 'platform-knows-no-module')
    .filter(
      (rule) =>
        new RegExp(rule.from.path).test(`src/${from}/a.ts`) &&
        new RegExp(rule.to.path).test(`src/${to}/a.ts`) &&
        !(rule.to.pathNot !== undefined && new RegExp(rule.to.pathNot).test(`src/${to}/a.ts`)),
    )
    .map(({ name }) => name);
  // Every module may write the tables of the platform module, because audit rows and events must be written in the same
  // transaction as the change.
  return changes && to !== 'platform' ? [...directions, 'changed-by-its-owner'] : directions;
}
