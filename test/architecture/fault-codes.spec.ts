import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const root = join(__dirname, '../..');
const CODE = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

interface Codes {
  readonly answered: string[];
  readonly declared: string[];
}

/**
 * Returns the fault codes in an expression. The expression is a single code, or a conditional expression with two
 * codes.
 */
function textOf(node: ts.Node | undefined): string[] {
  if (node === undefined) return [];
  if (ts.isConditionalExpression(node)) return [...textOf(node.whenTrue), ...textOf(node.whenFalse)];
  return ts.isStringLiteral(node) && CODE.test(node.text) ? [node.text] : [];
}

/** Returns the fault codes that a source text uses, and the fault codes that it declares. */
function codesIn(text: string): Codes {
  const codes: Codes = { answered: [], declared: [] };
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const called = node.expression.getText();
      const [first, second] = node.arguments;
      if (called === 'defineProblem') codes.declared.push(...textOf(first));
      else if (/^declare(Faults|Warnings)$/.test(called) && ts.isObjectLiteralExpression(first))
        codes.declared.push(...first.properties.map((property) => property.name!.getText()));
      else if (called === 'fault') codes.answered.push(...textOf(first));
      else if (called === 'oneOf' || called === 'add') codes.answered.push(...textOf(second));
    }
    if (ts.isNewExpression(node) && /(Url|Pem)Error$/.test(node.expression.getText()))
      codes.answered.push(...(node.arguments ?? []).flatMap(textOf).slice(0, 1));
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'code')
      codes.answered.push(...textOf(node.initializer));
    node.forEachChild(visit);
  };
  visit(ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true));
  return codes;
}

describe('the codes of faults', () => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => ({ file, ...codesIn(readFileSync(join(root, 'src', file), 'utf8')) }));
  const declared = sources.flatMap((source) => source.declared);

  it('every fault code that a response uses is defined by defineProblem, declareFaults or declareWarnings', () => {
    const missing = sources.flatMap(({ file, answered }) =>
      answered.filter((code) => !declared.includes(code)).map((code) => `${file}: ${code}`),
    );
    expect(missing).toEqual([]);
  });

  it('every fault code in the catalogue is used by a response', () => {
    const answered = new Set(sources.flatMap((source) => source.answered));
    const meanings = sources.flatMap(
      ({ file }) => codesIn(onlyFaults(readFileSync(join(root, 'src', file), 'utf8'))).declared,
    );
    expect(meanings.length).toBeGreaterThan(50);
    expect(meanings.filter((code) => !answered.has(code))).toEqual([]);
  });

  it('the fault-code check finds a code in every form in which the source code writes it', () => {
    const text = `fault('one', ''); oneOf(['A'], 'two'); add('/x', 'three', ''); text({ code: 'four' });
      throw new PartnerUrlError('five', ''); defineProblem('six', 'invalid'); declareFaults({ seven: ['', ''] });
      declareWarnings({ eight: ['', ''] });`;
    expect(codesIn(text)).toEqual({
      answered: ['one', 'two', 'three', 'four', 'five'],
      declared: ['six', 'seven', 'eight'],
    });
  });
});

/** Removes the declarations of problems from a source text, because this check covers only the codes of faults. */
function onlyFaults(text: string): string {
  return text.replaceAll('defineProblem(', 'ignored(');
}
