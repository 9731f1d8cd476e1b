/**
 * Runs the tests that call the service over HTTP. Their database is PostgreSQL 15 from Debian, the oldest supported
 * version.
 *
 * usage: node dist/test/proof/drill/oldest-postgres.js PATTERN   (of test files, as for `jest`). Needs root on Debian
 * 12.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../bench/command.js';
import { installPrograms } from '../debian.js';
import { DebianPostgres } from './postgres-servers.js';

const JEST = join(__dirname, '../../../../node_modules/jest/bin/jest.js');
/** Durability is off, because test data need not survive a crash. */
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off', 'max_connections=300'];

async function main(): Promise<boolean> {
  installPrograms('postgres');
  const folder = mkdtempSync(join(tmpdir(), 'oldest-postgres-'));
  chmodSync(folder, 0o755);
  const server = await DebianPostgres.primary(folder, 'oldest', randomBytes(16).toString('hex'), SETTINGS);
  try {
    const tests = ['--selectProjects', 'e2e', '--testPathPatterns', process.argv[2] ?? '.', '--silent'];
    const { status } = spawnSync(process.execPath, [JEST, ...tests], {
      env: { ...process.env, TEST_SERVER_URL: server.urlOf('postgres') },
      stdio: 'inherit',
    });
    return status === 0;
  } finally {
    await server.kill('SIGQUIT');
    await rm(folder, { recursive: true, force: true });
  }
}

runCommand(main);
