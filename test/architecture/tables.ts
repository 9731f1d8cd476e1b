import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import ts from 'typescript';

/** SQL in a source that names a table of another module than its own. */
export interface Arrow {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly table: string;
  /** It writes or locks the rows. */
  readonly changes: boolean;
}

interface Direction {
  readonly name: string;
  readonly from: { readonly path: string };
  readonly to: { readonly path: string; readonly pathNot?: string };
}

const config = join(__dirname, '../../.dependency-cruiser.cjs');
// Words of SQL in capitals: so the house writes them, and prose does not.
const SQL = /\b(SELECT|INSERT|UPDATE|DELETE|FROM|JOIN|INTO|USING|TRUNCATE|LOCK TABLE|COPY)\b/;
/** A table that is written or locked; of a lock every table of the statement, as it need not name one. */
const changes = (text: string, table: string): boolean =>
  /\bFOR (NO KEY )?(UPDATE|SHARE)\b|\bFOR KEY SHARE\b/.test(text) ||
  new RegExp(`\\b(INTO|UPDATE|DELETE FROM|TRUNCATE|LOCK TABLE) (ONLY )?${table}\\b`).test(text);
const TABLE_TO_COME = /\b(FROM|JOIN|INTO|UPDATE|TABLE|ONLY)\s*$/;

function sourcesIn(root: string): string[] {
  return readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.spec.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

/** `auth` of `src/auth/…`; null for what stands on top of the modules. */
function moduleOf(file: string): string | null {
  return /^src\/([^/]+)\//.exec(file)?.[1] ?? null;
}

function nodesOf(root: string, file: string): ts.Node[] {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    nodes.push(node);
    node.forEachChild(visit);
  };
  visit(source);
  return nodes;
}

/** Which module owns each table: the one in whose folder its entity stands. Throws where a table has two. */
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

/** The text of a string or a template; what is put into it is left out, as it is read where it is written. */
function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map((span) => span.literal)].map((part) => part.text).join(' ');
  return null;
}

/** Every mention of a table in a statement or a part of one, outside of the folder of its owner. */
export function arrowsIn(root: string, owners: ReadonlyMap<string, string>): Arrow[] {
  const arrows = new Map<string, Arrow>();
  for (const file of sourcesIn(root)) {
    const from = moduleOf(file);
    if (from === null || from === 'migrations') continue;
    for (const text of nodesOf(root, file).map(textOf)) {
      if (text === null || !SQL.test(text)) continue;
      for (const word of text.match(/\w+/g) ?? []) {
        const to = owners.get(word);
        if (to === undefined || to === from) continue;
        const arrow = { file, from, to, table: word, changes: changes(text, word) };
        arrows.set(`${file} ${word} ${arrow.changes}`, arrow);
      }
    }
  }
  return [...arrows.values()];
}

/** Places where the name of a table is put together, so that this cannot be read from the sources. */
export function hiddenTablesIn(root: string): string[] {
  return sourcesIn(root).flatMap((file) =>
    nodesOf(root, file)
      .filter((node) => ts.isTemplateExpression(node))
      .filter((node) =>
        [node.head, ...node.templateSpans.slice(0, -1).map((span) => span.literal)].some((part) =>
          TABLE_TO_COME.test(part.text),
        ),
      )
      .map(() => file),
  );
}

const VOLATILE = /\b(clock_timestamp|timeofday|random|nextval|setval|gen_random_uuid|pg_sleep)\s*\(/g;

/**
 * Functions in SQL that answer otherwise at each call, migrations and the sandbox's own schema aside. An UPDATE with one means
 * something else wherever a statement is carried out in another place than it was planned, and Citus refuses it.
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

/** The rules that an arrow breaks: SQL may go where an import may, and rows are changed by their owner alone. */
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
  // What platform keeps, it keeps for all: audit rows and events are written in the statements of their change.
  return changes && to !== 'platform' ? [...directions, 'changed-by-its-owner'] : directions;
}
