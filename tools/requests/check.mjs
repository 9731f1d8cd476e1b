// Are the two files as docs/openapi.json says, and does a sandbox answer every request of them as the document says? newman runs the
// collection, httpyac the .http file, each against a sandbox of its own.
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withService } from '../../scripts/own-service.mjs';
import { writeEnvironment } from './environment.mjs';
import { COLLECTION, generated, HTTP_FILE } from './generate.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const { files, count } = generated();

for (const [path, content] of files)
  if (readFileSync(path, 'utf8') !== content) {
    console.log(`${basename(path)} is not what docs/openapi.json says: npm run openapi`);
    process.exitCode = 1;
  }

/** Shows what a program said when it failed, or when it sent less than all. */
const run = (name, folder, args, sent) => {
  const { status, stdout, stderr } = spawnSync(join(here, 'node_modules/.bin', name), args, {
    cwd: folder,
    encoding: 'utf8',
  });
  const requests = sent(stdout);
  const isFine = status === 0 && requests === count;
  if (!isFine) {
    console.log(stdout, stderr);
    process.exitCode = 1;
  }
  console.log(`${name}: ${requests} of ${count} requests answered as the document says`);
};

await withService(async ({ folder }) => {
  const { postman } = writeEnvironment(join(folder, 'sandbox.json'), folder);
  // Of its table: executed and failed assertions.
  const passed = (output) => {
    const [, executed, failed] = /assertions\s*│\s*(\d+)\s*│\s*(\d+)/.exec(output) ?? [];
    return executed - failed;
  };
  run('newman', folder, ['run', COLLECTION, '--environment', postman, '--color', 'off'], passed);
});
await withService(async ({ folder }) => {
  writeEnvironment(join(folder, 'sandbox.json'), folder);
  // It reads files of the folder in which it runs.
  cpSync(HTTP_FILE, join(folder, basename(HTTP_FILE)));
  const passed = (output) => Number(/(\d+) succeeded/.exec(output)?.[1]);
  run(
    'httpyac',
    folder,
    ['send', basename(HTTP_FILE), '--all', '--env', 'sandbox', '--output', 'none', '--output-failed', 'response'],
    passed,
  );
});
