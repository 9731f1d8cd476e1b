// Updates the screenshots in docs/console.md. The console's tests save screenshots of their pages in both themes, wide
// and at 360 px. This script runs the tests that show the pages of the document, and copies the wide and light
// screenshots. If a folder is given, the script also copies all screenshots of ten pages and of two lists with an open
// item to this folder, for a review.
//
// usage: node scripts/console-pictures.mjs [FOLDER]
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const jest = createRequire(import.meta.url).resolve('jest/bin/jest');
const target = join(root, 'docs/console');
const review = process.argv[2] && resolve(process.argv[2]);
const KIND = '-light-1280.png';
const KINDS = [KIND, '-dark-1280.png', '-light-360.png', '-dark-360.png'];
const REVIEWED = [
  'home',
  'queue',
  'queue-chosen',
  'notification',
  'partners',
  'partner',
  'candidate-booked',
  'work-approvals',
  'work-unmatched-result',
  'sign-in',
  'beside-notification',
  'beside-candidate',
];

const shown = [...readFileSync(`${target}.md`, 'utf8').matchAll(/\]\(console\/([\w-]+)\.png\)/g)].map(
  ([, name]) => name,
);
const tests = readdirSync(join(root, 'test/console')).map((file) => `test/console/${file}`);
const wanted = new Set(review ? [...shown, ...REVIEWED] : shown);
const suites = [...wanted].map((name) => {
  const suite = tests.find((file) => readFileSync(join(root, file), 'utf8').includes(`expectGoodPage('${name}'`));
  if (suite === undefined) throw new Error(`No test takes a picture of ${name}.`);
  return suite;
});

const taken = mkdtempSync(join(tmpdir(), 'console-pictures-'));
const { status } = spawnSync(
  process.execPath,
  [jest, '--selectProjects', 'e2e', '--testPathPatterns', ...new Set(suites)],
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
for (const name of shown) {
  const picture = join(target, `${name}.png`);
  cpSync(join(taken, `${name}${KIND}`), picture);
  bytes += statSync(picture).size;
}
console.log(`${shown.length} pictures, ${Math.round(bytes / 1024)} KiB, in docs/console`);
if (review) {
  const files = REVIEWED.flatMap((name) => KINDS.map((kind) => `${name}${kind}`));
  mkdirSync(review, { recursive: true });
  for (const file of files) cpSync(join(taken, file), join(review, file));
  console.log(`${files.length} pictures in ${review}`);
}
rmSync(taken, { recursive: true });
