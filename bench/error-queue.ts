/**
 * The operator's pages with a very long error queue: list, filtered lists and summary over HTTP, medians and p95.
 *
 * usage: node dist/bench/error-queue.js [--rows 1000000]   (goal: each under 50 ms)
 */
import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { runCommand } from './command.js';
import { startInside } from './inside.js';
import { fillQueue } from './long-queue.js';

const CALLS = 40;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } }, strict: false });
  const rows = Number(values.rows);
  const { account, token, baseUrl, ...service } = await startInside();
  const subscriptions = await fillQueue(service.database, service.databaseUrl, account, rows);

  const pages: Record<string, string> = {
    list: '',
    'by account and failure': `?account_code=${account}&failure=tls`,
    'by subscription and status': `?subscription_id=${subscriptions[3]}&http_status=503`,
    'by booking': '?booking_code=B000000042',
    'by time': '?from=2000-01-01T00:00:00Z&limit=200',
    'nothing found': '?failure=dns',
    summary: '/summary',
  };
  process.stdout.write(`${rows} notifications in the error queue\n`);
  for (const [name, search] of Object.entries(pages)) {
    const times: number[] = [];
    for (let call = 0; call < CALLS; call++) {
      const started = performance.now();
      const response = await fetch(`${baseUrl}/admin/error-queue${search}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await response.text();
      if (!response.ok) throw new Error(`${name}: ${response.status}`);
      times.push(performance.now() - started);
    }
    times.sort((a, b) => a - b);
    const [median, p95] = [times[CALLS / 2], times[Math.floor(CALLS * 0.95)]];
    process.stdout.write(`${name.padEnd(28)} p50 ${median.toFixed(1)} ms   p95 ${p95.toFixed(1)} ms\n`);
  }
  await service.stop();
}

runCommand(main);
