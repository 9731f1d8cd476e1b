// Checks docs/openapi.json with the tools of others: Spectral and Redocly find nothing; the clients that openapi-typescript, hey-api and orval
// make of it compile; the zod schemas among them take every example of the document; and its patterns mean the same in every language.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { comparePatterns } from './patterns.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const document = join(here, '../../docs/openapi.json');
// Within this folder, so that what is made finds its dependencies.
const folder = mkdtempSync(join(here, '.check-'));

function program(name, args, stdio = 'inherit') {
  return spawnSync(join(here, 'node_modules/.bin', name), args, {
    cwd: here,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio,
  });
}

function fail(...lines) {
  for (const line of lines) console.log(line);
  process.exitCode = 1;
}

/** Silent unless it fails. */
function run(name, ...args) {
  const { status, stdout, stderr } = program(name, args, 'pipe');
  if (status === 0) console.log(`${name}: fine`);
  else fail(`${name} failed`, stdout, stderr);
}

run('spectral', 'lint', document, '--ruleset', 'spectral.yaml', '--fail-severity', 'hint');

// Warnings alone do not fail it.
const linted = program('redocly', ['lint', document, '--config', 'redocly.yaml', '--format', 'json'], 'pipe');
const { totals, problems } = JSON.parse(linted.stdout);
if (totals.errors + totals.warnings === 0) console.log('redocly: fine');
else fail(...problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`));

run('openapi-typescript', document, '--output', join(folder, 'schema.ts'));
run('openapi-ts', '--input', document, '--output', join(folder, 'hey'), '--client', '@hey-api/client-fetch');
const zod = join(folder, 'zod.ts');
const output = { client: 'zod', target: zod, mode: 'single' };
writeFileSync(
  join(folder, 'orval.config.cjs'),
  `module.exports = ${JSON.stringify({ service: { input: document, output } })};`,
);
run('orval', '--config', join(folder, 'orval.config.cjs'));

const { differing, asked, compared } = comparePatterns();
if (differing.length > 0) fail(...differing);
else console.log(`patterns: ${compared} comparisons agree in JavaScript, ${asked.join(', ')}`);
// It would see a difference.
if (comparePatterns({ pattern: '^\\w+$' }).differing.length === 0) fail('The comparison of patterns compares nothing.');

// A call that is right, and one that is not.
writeFileSync(
  join(folder, 'use.ts'),
  `import type { paths } from './schema';
export * as hey from './hey';
export * as zod from './zod';
type Create = paths['/accounts/{account_code}/candidates']['post']['requestBody']['content']['application/json'];
export const right: Create = { test_code: 'T', candidate: { candidate_id: 'C', first_name: 'A', last_name: 'B' } };
// @ts-expect-error a candidate has a name
export const wrong: Create = { test_code: 'T', candidate: { candidate_id: 'C' } };
`,
);
const compilerOptions = {
  strict: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
  outDir: 'built',
};
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }));
writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
run('tsc', '--project', folder);

const schemas = await import(pathToFileURL(join(folder, 'built/zod.js')).href);
let taken = 0;
for (const [path, item] of Object.entries(JSON.parse(readFileSync(document, 'utf8')).paths))
  for (const [method, { operationId, requestBody }] of Object.entries(item)) {
    const example = requestBody?.content['application/json']?.example;
    if (example === undefined) continue;
    const name = operationId
      .replace(/^[A-Z]/, (first) => first.toLowerCase())
      .replace(/_(.)/g, (_, next) => next.toUpperCase());
    const result = schemas[`${name}Body`]?.safeParse(example);
    if (result?.success) taken++;
    else fail(`zod refuses the example of ${method.toUpperCase()} ${path}: ${result?.error ?? `no ${name}Body`}`);
  }
if (taken < 25) fail(`Only ${taken} examples were looked at.`);
else console.log(`zod: takes ${taken} examples`);
rmSync(folder, { recursive: true });
