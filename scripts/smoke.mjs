// Starts the built service on the Node that runs this, in a folder of its own, asks whether it is ready, and ends it:
// `node scripts/smoke.mjs`. Exits with 0 when the service did as it should.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, realpathSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = await mkdtemp(join(tmpdir(), 'eligibility-smoke-'));
const { DATABASE_URL: _database, ...environment } = process.env;
const service = spawn(process.execPath, [join(root, 'dist/main.js')], {
  env: { ...environment, NODE_ENV: 'development', PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'warn', DATA_DIR: folder },
  stdio: ['ignore', 'inherit', 'inherit'],
});
const ended = once(service, 'exit');
try {
  const file = join(folder, 'server.json');
  for (let waited = 0; !existsSync(file); waited += 100) {
    if (service.exitCode !== null || waited > 120_000) throw new Error('The service did not start.');
    await pause(100);
  }
  const { base_url: base } = JSON.parse(await readFile(file, 'utf8'));
  const ready = await fetch(`${base}/health/ready`);
  const unknown = await fetch(`${base}/accounts/nobody/candidates/nobody`);
  if (ready.status !== 200 || unknown.status !== 401) throw new Error(`Answers ${ready.status} and ${unknown.status}.`);
  service.kill('SIGTERM');
  const [code] = await ended;
  if (code !== 0) throw new Error(`Ended with ${code}.`);
  console.log(`Node ${process.version}: started, ready, ended.`);
} finally {
  service.kill('SIGKILL');
  // Run by root, the database has its files where its own user may go.
  const cluster = join(folder, 'postgres');
  if (existsSync(cluster)) await rm(realpathSync(cluster), { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
}
