import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VIOLATIONS, type Violation } from './violations';

/**
 * Plants each violation of the specification in a copy of the sources, one at a time. For each violation, runs the test
 * of the sentence that it violates. The exit code is 1 unless the tests find each violation and pass without a
 * violation.
 *
 * usage: npm run mutants [-- SENTENCE …]
 */
const root = process.cwd();
const COPIED = [
  'src',
  'test',
  'scripts',
  'clients',
  'tools',
  'docs',
  'jest.config.cjs',
  'package.json',
  'tsconfig.json',
];
const AT_ONCE = 2;
const MOST_MS = 180_000;

function copy(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mutants-'));
  for (const name of COPIED)
    cpSync(join(root, name), join(folder, name), {
      recursive: true,
      filter: (path) => !path.includes('/node_modules'),
    });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  // The scripts that build the console and the client's types are replaced with empty files, because no test of a
  // sentence needs their output.
  writeFileSync(join(folder, 'scripts/build-console.mjs'), '');
  writeFileSync(join(folder, 'scripts/client-types.mjs'), '');
  return folder;
}

/** Returns whether the tests whose titles begin with one of the numbers pass. */
function passes(folder: string, numbers: readonly string[]): Promise<{ passed: boolean; output: string }> {
  const titles = `(^| )(${numbers.map((number) => number.replace('.', '\\.')).join('|')}) `;
  const options = ['--selectProjects', 'e2e', '--testPathPatterns', 'test/specification', '-t', titles, '-i'];
  const jest = join(root, 'node_modules/jest/bin/jest.js');
  return new Promise((resolve) => {
    execFile(process.execPath, [jest, ...options], { cwd: folder, timeout: MOST_MS }, (error, stdout, stderr) =>
      resolve({ passed: error === null, output: stdout + stderr }),
    );
  });
}

async function isCaught(folder: string, { sentence, file, from, to }: Violation): Promise<boolean> {
  const path = join(folder, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(from).length < 2) throw new Error(`${file} has no ${JSON.stringify(from)}.`);
  writeFileSync(path, source.replace(from, to));
  try {
    const { passed, output } = await passes(folder, [sentence]);
    // A violation counts as found only if a test has failed. A suite that did not run does not count.
    return !passed && output.includes(`› ${sentence} `) && !output.includes('Test suite failed to run');
  } finally {
    writeFileSync(path, source);
  }
}

async function main(): Promise<void> {
  const chosen = process.argv.slice(2);
  const violations = VIOLATIONS.filter(({ sentence }) => chosen.length === 0 || chosen.includes(sentence));
  const waiting = [...violations];
  const missed: Violation[] = [];
  const folders = Array.from({ length: Math.min(AT_ONCE, waiting.length) }, copy);
  try {
    const { passed, output } = await passes(folders[0], [...new Set(violations.map(({ sentence }) => sentence))]);
    if (!passed) throw new Error(`The tests fail with nothing planted.\n${output}`);
    await Promise.all(
      folders.map(async (folder) => {
        for (let violation = waiting.shift(); violation !== undefined; violation = waiting.shift()) {
          const caught = await isCaught(folder, violation);
          if (!caught) missed.push(violation);
          process.stdout.write(`${violation.sentence.padEnd(6)} ${caught ? 'caught' : 'MISSED'}  ${violation.file}\n`);
        }
      }),
    );
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${violations.length - missed.length} of ${violations.length} violations caught\n`);
  process.exitCode = missed.length === 0 ? 0 : 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
});
