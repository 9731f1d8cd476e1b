// Takes the pictures of docs/console.md: the tests of the console leave one of every page, and these are the wide, light ones.
// usage: node scripts/console-pictures.mjs
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
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
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
let bytes = 0;
for (const name of readdirSync(taken).filter((file) => file.endsWith(KIND))) {
  const picture = join(target, name.replace(KIND, '.png'));
  cpSync(join(taken, name), picture);
  bytes += statSync(picture).size;
}
rmSync(taken, { recursive: true });
console.log(`${Math.round(bytes / 1024)} KiB of pictures in docs/console`);
