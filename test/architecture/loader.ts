import { readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { transformSync } from '@swc/core';
import ts from 'typescript';
import { nodesOf } from './sources';

const TYPESCRIPT = { parser: { syntax: 'typescript' as const, decorators: true }, target: 'es2022' as const };

/** A source file that has been loaded as a module. */
export interface LoadedModule {
  readonly exports: Record<string, any>;
  /**
   * Evaluates an expression in the scope of the module. The module must declare or import all names in the expression.
   */
  evaluate: (expression: ts.Expression | string) => unknown;
}

/** Loads sources with their real imports. Evaluates constants that a module does not export. */
export class Loader {
  private readonly modules = new Map<string, LoadedModule>();

  constructor(private readonly root: string) {}

  /**
   * Loads a source file as a module.
   * @param file the path of the file, relative to the root
   */
  load(file: string): LoadedModule {
    const known = this.modules.get(file);
    if (known) return known;
    const path = join(this.root, file);
    const module: { exports: LoadedModule['exports']; evaluate: LoadedModule['evaluate'] } = {
      exports: {},
      evaluate: () => {
        throw new Error(`${file} is still being loaded`);
      },
    };
    this.modules.set(file, module);
    const { code } = transformSync(readFileSync(path, 'utf8'), {
      filename: path,
      jsc: { ...TYPESCRIPT, transform: { legacyDecorator: true, decoratorMetadata: true }, keepClassNames: true },
      module: { type: 'commonjs' },
    });
    const imports = (name: string): unknown => {
      if (!name.startsWith('.')) return jest.requireActual(name);
      const from = relative(this.root, join(dirname(path), name))
        .split(sep)
        .join('/');
      return from.endsWith('.json')
        ? jest.requireActual(join(this.root, from))
        : this.load(from.replace(/\.js$/, '.ts')).exports;
    };
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- it evaluates in the module's scope
    const run = new Function(
      'exports',
      'require',
      '__filename',
      '__dirname',
      `${code}\nreturn (text) => eval(text);`,
    ) as (...values: unknown[]) => (text: string) => (imported: object) => unknown;
    const within = run(module.exports, imports, path, dirname(path));
    module.evaluate = (given) => {
      const text = typeof given === 'string' ? given : given.getText();
      const values = [...importsIn(nodesOf(this.root, file))]
        .filter(([name]) => new RegExp(`\\b${name}\\b`).test(text))
        .map(([name, { from, as }]) => [name, (imports(from) as Record<string, unknown>)[as]]);
      const names = Object.fromEntries(values) as object;
      return within(`({ ${Object.keys(names).join()} }) => ${javascript(text)}`)(names);
    };
    return module;
  }
}

/**
 * Returns the names that a module imports. They are needed because SWC renames imported names when it compiles the
 * module.
 */
function importsIn(nodes: readonly ts.Node[]): ReadonlyMap<string, { from: string; as: string }> {
  const imported = new Map<string, { from: string; as: string }>();
  for (const node of nodes) {
    if (!ts.isImportSpecifier(node) || node.isTypeOnly || node.parent.parent.phaseModifier !== undefined) continue;
    const { moduleSpecifier } = node.parent.parent.parent as ts.ImportDeclaration;
    imported.set(node.name.text, {
      from: (moduleSpecifier as ts.StringLiteral).text,
      as: (node.propertyName ?? node.name).text,
    });
  }
  return imported;
}

function javascript(expression: string): string {
  const { code } = transformSync(`export const value = (${expression});`, { jsc: TYPESCRIPT });
  return code.slice(code.indexOf('const value = ') + 'const value = '.length, code.lastIndexOf(';'));
}
