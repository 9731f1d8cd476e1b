import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, realpathSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Starts the built service in a temporary folder, with the Node that runs this script. When `use` has ended, stops the
 * service and deletes the folder. If `env` has no `DATABASE_URL`, the service is a sandbox with its own PostgreSQL.
 * `program` may also be a program that builds the service and then starts it.
 */
export async function withService(use, env = {}, program = 'dist/main.js') {
  const folder = await mkdtemp(join(tmpdir(), 'eligibility-own-'));
  const { DATABASE_URL: _database, ...environment } = process.env;
  const service = spawn(process.execPath, [join(root, program)], {
    env: {
      ...environment,
      NODE_ENV: 'development',
      PORT: '0',
      METRICS_PORT: '0',
      LOG_LEVEL: 'warn',
      DATA_DIR: folder,
      ...env,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = once(service, 'exit');
  try {
    const file = join(folder, 'server.json');
    for (let waited = 0; !existsSync(file); waited += 100) {
      if (service.exitCode !== null || waited > 300_000) throw new Error('The service did not start.');
      await pause(100);
    }
    await use({ ...JSON.parse(await readFile(file, 'utf8')), folder });
    service.kill('SIGTERM');
    const [code] = await ended;
    if (code !== 0) throw new Error(`Ended with ${code}.`);
  } finally {
    service.kill('SIGKILL');
    // If root has started the service, `postgres` is a link to another folder, to which the database server's user has
    // access.
    const cluster = join(folder, 'postgres');
    if (existsSync(cluster)) await rm(realpathSync(cluster), { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns a port that is free at this moment. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return String(port);
}
