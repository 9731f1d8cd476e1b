import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { nodesOf, sourcesIn } from './sources';

const root = join(__dirname, '../..');

/** The packages that docs/decisions/0023-the-card.md names. */
const PACKAGES = [
  ...['core', 'common', 'platform-express', 'typeorm', 'passport', 'cqrs', 'schedule', 'axios'].map(
    (name) => `@nestjs/${name}`,
  ),
  ...['typeorm', 'pg', 'passport-http-bearer', 'class-validator', 'class-transformer'],
];
const TOP = ['package.json', 'tsconfig.json', 'nest-cli.json', 'src', 'test', 'ormconfig.ts', 'docker-compose.yml'];

/** Returns the base class in the declaration of a class; undefined if the file does not declare the class. */
function baseOf(file: string, name: string): string | undefined {
  const declared = nodesOf(root, file).find(
    (node): node is ts.ClassDeclaration => ts.isClassDeclaration(node) && node.name?.text === name,
  );
  return declared?.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)?.types[0].getText();
}

describe('the card of the project', () => {
  it('docs/decisions/0023-the-card.md names only packages that the service uses at run time', () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
      string,
      Record<string, string>
    >;
    expect(PACKAGES.filter((name) => !(name in dependencies))).toEqual([]);
    expect(devDependencies).toHaveProperty('jest');
    const imported = new Set(
      sourcesIn(root).flatMap((file) =>
        nodesOf(root, file).flatMap((node) =>
          ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier) ? [node.moduleSpecifier.text] : [],
        ),
      ),
    );
    expect(PACKAGES.filter((name) => !imported.has(name))).toEqual([]);
  });

  it('docs/decisions/0023-the-card.md names only files and folders that exist', () => {
    expect([...TOP, 'README.md'].filter((name) => !existsSync(join(root, name)))).toEqual([]);
  });

  it('docs/decisions/0023-the-card.md states correctly that the access guard and the bearer strategy derive from Passport', () => {
    expect(baseOf('src/auth/access.guard.ts', 'AccessGuard')).toBe("AuthGuard('bearer')");
    expect(baseOf('src/auth/tokens/bearer.strategy.ts', 'BearerStrategy')).toBe('PassportStrategy(Strategy)');
  });
});
