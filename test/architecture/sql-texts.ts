import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import type { Loader } from './loader';
import { moduleOf, nodesOf, sourcesIn } from './sources';

/** An SQL statement that the service can run. */
export interface SqlText {
  readonly file: string;
  readonly text: string;
  readonly name?: string;
  /** The reason that the statement declares for reading rows of several accounts. */
  readonly across?: string;
}

export interface SqlTexts {
  readonly statements: readonly SqlText[];
  /** The functions that assemble a statement from run-time values, as `file: function`. */
  readonly assembled: readonly string[];
}

// The check skips these files. Some are programs, which would run when they are loaded. Others build the statements of
// other modules, or are used only by migrations.
const NO_STATEMENTS = new Set([
  'src/main.ts',
  'src/admin.ts',
  'src/import-file.ts',
  'src/migrate-database.ts',
  'src/write-openapi.ts',
  'src/platform/database/build-index.ts',
  'src/platform/database/database.ts',
]);
const MAY_HOLD_STATEMENTS = /\bprepared\(|\btext\b|\.query\b/;
const MEMBERS = new Set(['name', 'text', 'values', 'across']);

const isText = (node: ts.Node): boolean => ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);

/**
 * Returns the expressions that declare the SQL statement at a node of the source. They are the text, the name and the
 * reason of the statement.
 */
function statementAt(node: ts.Node): Record<string, ts.Expression> | null {
  if (ts.isCallExpression(node)) {
    if (node.expression.getText() === 'prepared') {
      const [name, text, across] = node.arguments;
      return { name, text, ...(across && { across }) };
    }
    // A text that is passed directly to the `query` method of a connection is also an SQL statement.
    const [text] = node.arguments;
    const isQuery = ts.isPropertyAccessExpression(node.expression) && node.expression.name.text === 'query';
    return isQuery && text && isText(text) ? { text } : null;
  }
  if (!ts.isObjectLiteralExpression(node)) return null;
  const members: Record<string, ts.Expression> = {};
  for (const member of node.properties) {
    const name = member.name?.getText() ?? '';
    if (!MEMBERS.has(name)) return null;
    if (ts.isPropertyAssignment(member)) members[name] = member.initializer;
    else if (ts.isShorthandPropertyAssignment(member)) members[name] = member.name;
    else return null;
  }
  const { values: _, ...statement } = members;
  return 'text' in statement ? statement : null;
}

/**
 * Returns whether the expression uses a local variable or a parameter, so that its value is unknown until the code
 * runs.
 */
function isLocal(expression: ts.Expression): boolean {
  let local = false;
  const declares = (scope: ts.Node, name: string): boolean => {
    let found = false;
    const visit = (node: ts.Node): void => {
      if ((ts.isParameter(node) || ts.isVariableDeclaration(node)) && namesOf(node.name).includes(name)) found = true;
      else if (node === scope || !ts.isFunctionLike(node)) node.forEachChild(visit);
    };
    visit(scope);
    return found;
  };
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.ThisKeyword) local = true;
    if (ts.isIdentifier(node) && isReference(node))
      // Only the scopes that enclose the expression are searched. Names that the expression itself declares are not
      // local variables of the surrounding code.
      for (let scope: ts.Node = expression.parent; !ts.isSourceFile(scope); scope = scope.parent)
        if ((ts.isFunctionLike(scope) || ts.isForOfStatement(scope)) && declares(scope, node.text)) local = true;
    node.forEachChild(visit);
  };
  visit(expression);
  return local;
}

const namesOf = (name: ts.BindingName): string[] =>
  ts.isIdentifier(name)
    ? [name.text]
    : name.elements.flatMap((element) => (ts.isOmittedExpression(element) ? [] : namesOf(element.name)));

const isReference = ({ parent, ...node }: ts.Identifier): boolean =>
  !(ts.isPropertyAccessExpression(parent) && parent.name.text === node.text && parent.name.pos === node.pos) &&
  !(ts.isPropertyAssignment(parent) && parent.name.pos === node.pos);

function functionOf(node: ts.Node): string {
  for (let at = node.parent; !ts.isSourceFile(at); at = at.parent)
    if ((ts.isMethodDeclaration(at) || ts.isFunctionDeclaration(at)) && at.name) return at.name.getText();
  return '';
}

/**
 * Returns every statement of the sources, except the statements of migrations. Constants in a statement are replaced
 * with their values.
 */
export function sqlTextsIn(root: string, loader: Loader): SqlTexts {
  const statements: SqlText[] = [];
  const assembled = new Set<string>();
  for (const file of sourcesIn(root)) {
    if (moduleOf(file) === 'migrations' || NO_STATEMENTS.has(file)) continue;
    if (!MAY_HOLD_STATEMENTS.test(readFileSync(join(root, file), 'utf8'))) continue;
    for (const node of nodesOf(root, file)) {
      const found = statementAt(node);
      if (found === null) continue;
      if (Object.values(found).some(isLocal)) {
        assembled.add(`${file}: ${functionOf(node)}`);
        continue;
      }
      const members = Object.entries(found).map(([name, expression]) => [
        name,
        ts.isStringLiteralLike(expression) ? expression.text : loader.load(file).evaluate(expression),
      ]);
      statements.push({ file, ...(Object.fromEntries(members) as Omit<SqlText, 'file'>) });
    }
  }
  return { statements, assembled: [...assembled] };
}

const NAMES_A_TABLE =
  /\b(?:from|join|into|using|table)\s+(?:only\s+)?(\w+)|\bupdate\s+(?:only\s+)?(\w+)(?:\s+(?:as\s+)?\w+)?\s+set\b/gi;
const plain = (text: string): string => text.replace(/\s+/g, ' ').trim();

/**
 * Returns the SQL fragments that name a table but belong to no declared statement, as `file: table`. Such a fragment
 * would not be checked.
 */
export function strayIn(root: string, tables: ReadonlySet<string>, statements: readonly SqlText[]): string[] {
  const all = plain(statements.map(({ text }) => text).join(' '));
  const stray = new Set<string>();
  for (const file of sourcesIn(root)) {
    if (moduleOf(file) === 'migrations') continue;
    for (const node of nodesOf(root, file)) {
      if (!ts.isStringLiteralLike(node) && !ts.isTemplateHead(node) && !ts.isTemplateMiddleOrTemplateTail(node))
        continue;
      const named = [...node.text.matchAll(NAMES_A_TABLE)]
        .map(([, read, set]) => read ?? set)
        .filter((name) => tables.has(name));
      if (named.length > 0 && !all.includes(plain(node.text))) stray.add(`${file}: ${named[0]}`);
    }
  }
  return [...stray];
}
