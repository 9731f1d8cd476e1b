// Checks docs/openapi.json with the tools that clients use:
// 1. Spectral (with the rules of OWASP) and Redocly find nothing; Prism answers every operation with its example.
// 2. The clients of openapi-typescript, hey-api, orval, swagger-typescript-api and oazapfts compile, and the program of docs/clients.md,
//    “A generated client”, works against Prism.
// 3. The zod schemas accept every example of the document; its patterns mean the same in every language.
import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { comparePatterns } from './patterns.mjs';
import { callMock } from './prism.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const document = join(here, '../../docs/openapi.json');
// The temporary folder is below this one, so that generated code finds its dependencies.
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

/** Runs a program, and prints its output only if it fails. */
function run(name, ...args) {
  const { status, stdout, stderr } = program(name, args, 'pipe');
  if (status === 0) console.log(`${name}: fine`);
  else fail(`${name} failed`, stdout, stderr);
}

run('spectral', 'lint', document, '--ruleset', 'spectral.yaml', '--fail-severity', 'hint');

// Counts the findings itself, because Redocly exits with 0 when there are only warnings.
const linted = program('redocly', ['lint', document, '--config', 'redocly.yaml', '--format', 'json'], 'pipe');
const { totals, problems } = JSON.parse(linted.stdout);
if (totals.errors + totals.warnings === 0) console.log('redocly: fine');
else fail(...problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`));

run('openapi-typescript', document, '--output', join(folder, 'schema.ts'));
run('openapi-ts', '--input', document, '--output', join(folder, 'hey'), '--client', '@hey-api/client-fetch');
const outputOf = (client) => ({ client, target: join(folder, `${client}.ts`), mode: 'single' });
const [zod, fetchClient] = ['zod', 'fetch'].map((client) => ({ input: document, output: outputOf(client) }));
writeFileSync(join(folder, 'orval.config.cjs'), `module.exports = ${JSON.stringify({ zod, fetchClient })};`);
run('orval', '--config', join(folder, 'orval.config.cjs'));
run('swagger-typescript-api', 'generate', '--path', document, '--output', folder, '--name', 'swagger.ts', '--silent');
run('oazapfts', document, join(folder, 'oazapfts.ts'));

// Compiles and runs the program that docs/clients.md shows.
const guide = readFileSync(join(here, '../../docs/clients.md'), 'utf8');
const [, generated] = guide.split('\n## A generated client\n');
const [, program_] = /^```ts\n([^]*?)^```$/m.exec(generated);
writeFileSync(
  join(folder, 'book.ts'),
  program_.replace('./client/index.js', './hey/index.js').replace('./client/client.gen.js', './hey/client.gen.js'),
);

const { differing, asked, compared } = comparePatterns();
if (differing.length > 0) fail(...differing);
else console.log(`patterns: ${compared} comparisons agree in JavaScript, ${asked.join(', ')}`);
// Proves that the comparison detects a difference.
if (comparePatterns({ pattern: '^\\w+$' }).differing.length === 0) fail('The comparison of patterns compares nothing.');

// For each generated client, a valid call must compile, and a call without a name must not.
writeFileSync(
  join(folder, 'use.ts'),
  `import type { paths } from './schema';
export * as hey from './hey';
export * as zod from './zod';
import { createEligibility as viaHey } from './hey';
import { createEligibility as viaOrval } from './fetch';
import { createEligibility as viaOazapfts } from './oazapfts';
import { Api } from './swagger';
type Create = paths['/accounts/{account_code}/candidates']['post']['requestBody']['content']['application/json'];
export const right: Create = { test_code: 'T', candidate: { candidate_id: 'C', first_name: 'A', last_name: 'B' } };
// @ts-expect-error a candidate has a name
export const wrong: Create = { test_code: 'T', candidate: { candidate_id: 'C' } };
const path = { account_code: 'A' };
export const calls = [
  () => viaHey({ path, body: right }),
  () => viaOrval('A', right),
  () => viaOazapfts('A', right),
  () => new Api().accounts.createEligibility('A', right),
];
export const wrongCalls = [
  // @ts-expect-error a candidate has a name
  () => viaHey({ path, body: { test_code: 'T', candidate: { candidate_id: 'C' } } }),
  // @ts-expect-error a candidate has a name
  () => viaOrval('A', { test_code: 'T', candidate: { candidate_id: 'C' } }),
  // @ts-expect-error a candidate has a name
  () => viaOazapfts('A', { test_code: 'T', candidate: { candidate_id: 'C' } }),
  // @ts-expect-error a candidate has a name
  () => new Api().accounts.createEligibility('A', { test_code: 'T', candidate: { candidate_id: 'C' } }),
];
`,
);
const compilerOptions = {
  strict: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: ['node'],
  outDir: 'built',
};
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts', 'book.ts'] }));
writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
run('tsc', '--project', folder);

const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address();
server.close();
await once(server, 'close');
const prism = join(here, 'node_modules/.bin/prism');
const { faults, called } = await callMock(prism, document, JSON.parse(readFileSync(document, 'utf8')), port, (base) => {
  const env = { ...process.env, BASE: base, TOKEN: 'token', ACCOUNT: 'K7MWQ2XA9PDR' };
  // Bundles the generated modules into one file, because they import each other without extensions.
  const built = program(
    'esbuild',
    [join(folder, 'book.ts'), '--bundle', '--format=esm', `--outfile=${join(folder, 'book.mjs')}`],
    'pipe',
  );
  if (built.status !== 0) return fail('esbuild failed', built.stderr);
  return new Promise((done) => {
    const child = spawn(process.execPath, [join(folder, 'book.mjs')], { env });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (said += bytes));
    child.once('exit', (status) => {
      if (status === 0 && said === 'K7MWQ2XA booked as BOOKED\n') console.log('the program of the guide: fine');
      else fail(`The program of the guide ended with ${status} and said: ${said}`);
      done();
    });
  });
});
if (faults.length === 0) console.log(`prism: answers ${called} operations with their examples`);
else fail(...faults);

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
