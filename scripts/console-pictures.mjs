// Updates the screenshots in docs/console.md: the console's tests save screenshots of every page in both themes, wide
// and narrow. This script copies those that are wide and light.
//
// usage: node scripts/console-pictures.mjs
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const jest = createRequire(import.meta.url).resolve('jest/bin/jest');
const taken = mkdtempSync(join(tmpdir(), 'console-pictures-'));
const target = join(root, 'docs/console');
const KIND = '-light-1280.png';

const { status } = spawnSync(
  process.execPath,
  [jest, '--selectProjects', 'e2e', '--testPathPatterns', 'test/console-'],
  {
    cwd: root,
    env: { ...process.env, CONSOLE_PICTURES: taken },
    stdio: 'inherit',
  },
);
if (status !== 0) process.exit(status ?? 1);
const shown = [...readFileSync(`${target}.md`, 'utf8').matchAll(/\]\(console\/([\w-]+)\.png\)/g)].map(
  ([, name]) => name,
);
const missing = shown.filter((name) => !existsSync(join(taken, `${name}${KIND}`)));
if (missing.length > 0) throw new Error(`No test takes a picture of ${missing.join(', ')}.`);
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
let bytes = 0;
for (const name of shown) {
  const picture = join(target, `${name}.png`);
  cpSync(join(taken, `${name}${KIND}`), picture);
  bytes += statSync(picture).size;
}
rmSync(taken, { recursive: true });
console.log(`${shown.length} pictures, ${Math.round(bytes / 1024)} KiB, in docs/console`);
