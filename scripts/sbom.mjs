// Writes the software bill of materials of what runs (CycloneDX, by npm itself) to dist/sbom.cdx.json, and fails when a
// package comes under a licence that is not listed here.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Licences that ask for no more than to be named; an SPDX expression passes when one of its alternatives does. */
const ALLOWED = new Set([
  ...['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'CC0-1.0', 'CC-BY-4.0', 'ISC', 'MIT'],
  ...['MIT-0', 'PostgreSQL', 'Python-2.0', 'Unlicense', 'Zlib'],
]);

/** Packages that name none in package.json; their own files say MIT. */
const LOOKED_UP = new Set(['passport-http-bearer@1.0.1', 'passport-strategy@1.0.0', 'pause@0.0.1']);

function isAllowed(expression) {
  const plain = expression.replaceAll(/[()]/g, ' ').trim();
  return plain.split(/\s+OR\s+/).some((choice) => choice.split(/\s+AND\s+/).every((one) => ALLOWED.has(one.trim())));
}

const { status, stdout, stderr } = spawnSync(
  'npm',
  ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--omit', 'dev'],
  { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
);
if (status !== 0) {
  process.stderr.write(stderr);
  process.exit(1);
}
const { components } = JSON.parse(stdout);
const refused = components.filter(({ name, version, licenses = [] }) => {
  if (LOOKED_UP.has(`${name}@${version}`)) return false;
  const named = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? '');
  return named.length === 0 || !named.every(isAllowed);
});
for (const { name, version, licenses } of refused)
  process.stderr.write(`${name} ${version}: ${JSON.stringify(licenses ?? 'no licence')}\n`);
if (refused.length > 0) process.exit(1);
mkdirSync(join(root, 'dist'), { recursive: true });
writeFileSync(join(root, 'dist/sbom.cdx.json'), stdout);
process.stdout.write(`${components.length} packages, all under licences that are allowed; dist/sbom.cdx.json\n`);
