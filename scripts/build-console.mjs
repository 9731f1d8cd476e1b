// Builds the console (console/) into dist/console if a source is newer than the last build.
// usage: node scripts/build-console.mjs
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const built = join(root, 'dist/console/index.html');
const sources = [
  ...['console', 'site/look', 'site/look.mjs'],
  ...['docs/openapi.json', 'package-lock.json', 'scripts/build-console.mjs'],
];

export async function buildConsole() {
  const since = statSync(built, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (since > Math.max(...sources.map((source) => newest(join(root, source))))) return;
  const { build } = await import('vite');
  const { NODE_ENV } = process.env;
  await build({ configFile: join(root, 'console/vite.config.mjs') });
  // Vite sets NODE_ENV for the whole process. If a service started in this process afterwards, the service would then
  // run in production mode instead of as a sandbox.
  if (NODE_ENV === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = NODE_ENV;
}

function newest(path) {
  if (!existsSync(path)) return 0;
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildConsole();
