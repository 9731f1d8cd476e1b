// What others make of docs/openapi.json: Spectral and Redocly find nothing, and the types made of it compile.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const document = join(here, '../../docs/openapi.json');
const folder = mkdtempSync(join(tmpdir(), 'openapi-tools-'));
const types = join(folder, 'schema.ts');

function run(name, ...args) {
  const { status } = spawnSync(join(here, 'node_modules/.bin', name), args, { cwd: here, stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

run('spectral', 'lint', document, '--ruleset', 'spectral.yaml', '--fail-severity', 'hint');
// Warnings alone do not fail it.
const { stdout } = spawnSync(
  join(here, 'node_modules/.bin/redocly'),
  ['lint', document, '--config', 'redocly.yaml', '--format', 'json'],
  { cwd: here, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
);
const { totals, problems } = JSON.parse(stdout);
for (const { ruleId, message, location } of problems) console.log(`${ruleId}: ${message} ${location[0]?.pointer}`);
if (totals.errors + totals.warnings > 0) process.exitCode = 1;
run('openapi-typescript', document, '--output', types);
// A call that is right, and one that is not.
writeFileSync(
  join(folder, 'use.ts'),
  `import type { paths } from './schema';
type Create = paths['/accounts/{account_code}/candidates']['post']['requestBody']['content']['application/json'];
export const right: Create = { test_code: 'T', candidate: { candidate_id: 'C', first_name: 'A', last_name: 'B' } };
// @ts-expect-error a candidate has a name
export const wrong: Create = { test_code: 'T', candidate: { candidate_id: 'C' } };
`,
);
writeFileSync(
  join(folder, 'tsconfig.json'),
  JSON.stringify({ compilerOptions: { strict: true, noEmit: true, types: [] }, files: ['use.ts'] }),
);
run('tsc', '--project', folder);
rmSync(folder, { recursive: true });
