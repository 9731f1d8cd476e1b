import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pgbouncer, freePort } from '../deployed.js';
import { until } from '../daemon.js';
import { connectTo } from '../../../src/platform/database/service-client.js';
import type { DebianPostgres } from './postgres-servers.js';

const MAIN = join(__dirname, '../../../main.js');

/**
 * Starts the service behind pgbouncer in transaction mode. In this mode, the service must refuse to start.
 * @returns the line that the service printed
 * @throws Error unless the service exits after printing one line that names the setting and the remedy
 */
export async function startBehindTransactionMode(
  folder: string,
  server: DebianPostgres,
  password: string,
): Promise<string> {
  const port = await freePort();
  const database = { host: '127.0.0.1', port: server.port };
  const pooler = pgbouncer(folder, { database, user: 'eligibility', password, port, mode: 'transaction' });
  pooler.start();
  try {
    const url = `postgres://eligibility:${password}@127.0.0.1:${port}/eligibility`;
    await until('pgbouncer answers', async () => (await connectTo(url)).end(), 10_000);
    const dataDir = join(folder, 'transaction-mode');
    mkdirSync(dataDir);
    const { status, stderr } = spawnSync(process.execPath, [MAIN], {
      env: {
        ...process.env,
        NODE_ENV: 'production',
        PORT: '0',
        METRICS_PORT: '0',
        LOG_LEVEL: 'fatal',
        DATA_DIR: dataDir,
        DATABASE_URL: url,
        SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
      },
      encoding: 'utf8',
      timeout: 60_000,
    });
    const lines = stderr.trimEnd().split('\n');
    if (
      status === 0 ||
      status === null ||
      lines.length !== 1 ||
      !/^.*DATABASE_URL .*pool_mode = session/.test(lines[0])
    )
      throw new Error(`Behind pgbouncer in transaction mode the start ended with ${status} and said: ${stderr}`);
    return lines[0];
  } finally {
    await pooler.kill();
  }
}
