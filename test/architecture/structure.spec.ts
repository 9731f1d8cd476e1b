import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

const root = join(__dirname, '../..');
const MOST_LINES = 300;
const HOMELESS = ['utils', 'helpers', 'common', 'shared', 'lib', 'types'];

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

describe('the source files', () => {
  // The partner kits in other languages contain no TypeScript.
  const packages = readdirSync(join(root, 'clients')).filter((name) => existsSync(join(root, 'clients', name, 'src')));
  const ofClients = packages.flatMap((name) =>
    // src/openapi.ts is skipped, because it is generated from the OpenAPI document.
    sourcesIn(join(root, 'clients', name, 'src')).filter((file) => basename(file) !== 'openapi.ts'),
  );
  const sources = [...sourcesIn(join(root, 'src')), ...sourcesIn(join(root, 'console')), ...ofClients];

  it(`source files have at most ${MOST_LINES} lines each`, () => {
    const long = sources.filter((file) => readFileSync(join(root, file), 'utf8').split('\n').length > MOST_LINES + 1);
    expect(long).toEqual([]);
  });

  it('the sources have no folder for miscellaneous code, such as utils', () => {
    expect(sources.filter((file) => HOMELESS.includes(basename(dirname(file))))).toEqual([]);
  });

  it('the sources have no barrel files', () => {
    // Only the entry point of a client package may be a barrel file.
    const entry = /^clients\/\w+\/src\/index\.ts$/;
    expect(sources.filter((file) => basename(file) === 'index.ts' && !entry.test(file))).toEqual([]);
  });

  it('src/schema.ts lists every entity and every migration', () => {
    const known = readFileSync(join(root, 'src/schema.ts'), 'utf8');
    const tables = sources.filter((file) => file.endsWith('.entity.ts') || file.startsWith('src/migrations/'));
    expect(tables.length).toBeGreaterThan(0);
    expect(tables.filter((file) => !known.includes(`'${file.replace(/^src/, '.').replace(/\.ts$/, '.js')}'`))).toEqual(
      [],
    );
  });

  it('no entity defines a constraint or an index, because migrations define them', () => {
    const stated = /@(Check|Index|Unique|Exclusion|ForeignKey|OneToMany|ManyToOne)\(|ConstraintName/;
    const entities = sources.filter((file) => file.endsWith('.entity.ts'));
    expect(entities.filter((file) => stated.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });

  it('no test is skipped, and no test file runs only some of its tests', () => {
    const marked = /\b(it|test|describe)\.(skip|only|todo|failing)\(|\bx(it|describe)\(/;
    const tests = [...sources, ...sourcesIn(join(root, 'test'))].filter((file) => /\.(spec|e2e)\.ts$/.test(file));
    expect(tests.filter((file) => marked.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });
});
