// Writes the software bill of materials of the runtime to dist/sbom.cdx.json. npm generates it in the CycloneDX format.
// The script fails when a package has a licence that is not listed here. The console's bundle contains packages that
// are installed only for the build. The script finds these packages by the imports in the console's sources.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Licences that require only attribution. An SPDX expression is accepted if one of its alternatives is in the list. */
const ALLOWED = new Set([
  ...['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'CC0-1.0', 'CC-BY-4.0', 'ISC', 'MIT'],
  ...['MIT-0', 'OFL-1.1', 'PostgreSQL', 'Python-2.0', 'Unlicense', 'Zlib'],
]);

/** Packages whose package.json names no licence. According to other files of these packages, the licence is MIT. */
const LOOKED_UP = new Set([
  ...['busboy@1.6.0', 'passport-http-bearer@1.0.1', 'passport-strategy@1.0.0', 'pause@0.0.1', 'streamsearch@1.1.0'],
]);

function isAllowed(expression) {
  const plain = expression.replaceAll(/[()]/g, ' ').trim();
  return plain.split(/\s+OR\s+/).some((choice) => choice.split(/\s+AND\s+/).every((one) => ALLOWED.has(one.trim())));
}

function bill() {
  const { status, stdout, stderr } = spawnSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return JSON.parse(stdout);
  process.stderr.write(stderr);
  process.exit(1);
}

/** Returns the packages that the console's sources import. */
function consoleImports() {
  const folder = join(root, 'console');
  const sources = readdirSync(folder, { recursive: true }).filter((name) => /\.(tsx?|css)$/.test(name));
  const named = sources.flatMap((name) =>
    [...readFileSync(join(folder, name), 'utf8').matchAll(/(?:from|import) '([@a-z][^':]*)'/g)].map(([, from]) => from),
  );
  return new Set(named.map((from) => from.split('/', from.startsWith('@') ? 2 : 1).join('/')));
}

const all = bill();
const dependsOn = new Map(all.dependencies.map(({ ref, dependsOn: needed }) => [ref, needed]));
const imported = consoleImports();
const service = all.metadata.component['bom-ref'];
// `npm sbom --omit dev` omits some runtime packages. The lock file lists all packages that `npm ci --omit dev`
// installs. It also includes TypeScript, which is needed only for development, because a runtime package has TypeScript
// as an optional peer.
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const installed = Object.entries(packages)
  .filter(([path, { dev }]) => path !== '' && dev !== true)
  .map(([path, { name, version }]) => `${name ?? path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`);
const runs = new Set(installed);
const known = new Set(all.components.map((component) => component['bom-ref']));
const unknown = [...runs].filter((ref) => !known.has(ref));
if (unknown.length > 0) throw new Error(`npm sbom does not know ${unknown.join(', ')}.`);
const seeds = dependsOn.get(service).filter((ref) => imported.has(ref.slice(0, ref.lastIndexOf('@'))));
if (seeds.length < imported.size) throw new Error(`Of ${[...imported].join(', ')} some are no dependencies.`);
// Iterating over a Set also visits entries that are added during the iteration.
const inBrowser = new Set(seeds);
for (const ref of inBrowser) for (const needed of dependsOn.get(ref) ?? []) inBrowser.add(needed);
for (const ref of inBrowser) runs.add(ref);
const components = all.components.filter((component) => runs.has(component['bom-ref']));
const dependencies = all.dependencies
  .filter(({ ref }) => ref === service || runs.has(ref))
  .map(({ ref, dependsOn: needed }) => ({ ref, dependsOn: needed.filter((other) => runs.has(other)) }));
const refused = components.filter(({ name, version, licenses = [] }) => {
  if (LOOKED_UP.has(`${name}@${version}`)) return false;
  const named = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? '');
  return named.length === 0 || !named.every(isAllowed);
});
for (const { name, version, licenses } of refused)
  process.stderr.write(`${name} ${version}: ${JSON.stringify(licenses ?? 'no licence')}\n`);
if (refused.length > 0) process.exit(1);
mkdirSync(join(root, 'dist'), { recursive: true });
writeFileSync(join(root, 'dist/sbom.cdx.json'), JSON.stringify({ ...all, components, dependencies }, null, 2));
process.stdout.write(`${components.length} packages, all under licences that are allowed; dist/sbom.cdx.json\n`);
