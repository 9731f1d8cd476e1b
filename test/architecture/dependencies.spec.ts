import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const root = join(__dirname, '../..');
const config = join(root, '.dependency-cruiser.cjs');
const cruiser = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

interface Violation {
  from: string;
  to: string;
  rule: { name: string };
}

function violationsIn(folder: string, targets: string[]): Violation[] {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [cruiser, '--config', config, '--output-type', 'json', ...targets],
    {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  if (stdout === '') throw new Error(stderr);
  return (JSON.parse(stdout) as { summary: { violations: Violation[] } }).summary.violations;
}

describe('the import rules between modules', () => {
  it('the import rules between modules hold for every source file', () => {
    expect(
      violationsIn(root, ['src', 'console/src', 'clients', 'bench', 'demo', 'test', 'scripts', 'ormconfig.ts']).map(
        ({ from, to, rule }) => `${rule.name}: ${from} → ${to}`,
      ),
    ).toEqual([]);
  });

  it('the import check reports a planted violation of every rule', () => {
    const { forbidden } = createRequire(__filename)(config) as { forbidden: { name: string }[] };
    const broken = new Set(
      violationsIn(join(__dirname, 'violations'), ['src', 'console/src']).map(({ rule }) => rule.name),
    );
    expect([...broken].sort()).toEqual(forbidden.map(({ name }) => name).sort());
  });
});
