/**
 * Measures partners that poll. The figures are the memory of waiting polls, the time until a waiting poll gets a
 * notification, and the rate at which a backlog is polled and acknowledged.
 *
 * usage: node dist/bench/polls.js [--polls 1000] [--queued 20000]   (goal: at most 60 MiB for 1,000 waiting polls)
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { Pool } from 'undici';
import { migrate } from '../src/platform/database/migrate.js';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { callJson } from './calls.js';
import { runCommand } from './command.js';
import { prepare, preparePartner, TEST_CODE } from './prepare.js';
import { residentMiB } from './processor-time.js';
import { seedNotifications } from './seed.js';
import { ServiceProcess } from './service-process.js';

const MOST_MIB = 60;
const POLL = '/partner/notifications/poll';
/** The time for which the polls wait before the memory is read. */
const SETTLED_MS = 5_000;

const { values: options } = parseArgs({
  options: { polls: { type: 'string', default: '1000' }, queued: { type: 'string', default: '20000' } },
});

interface Answer {
  notifications: { id: string }[];
  more_available: boolean;
}

async function main(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'polls-'));
  chmodSync(folder, 0o755);
  const server = await startEmbeddedPostgres({ dataDir: folder, database: 'bench' });
  await migrate(server.url);
  const { account, token } = await prepare(server.url);
  const service = new ServiceProcess(join(folder, 'service'), {
    DATABASE_URL: server.url,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT_PER_MINUTE: '0',
  });
  await service.start();
  const call = (path: string, body: object) => callJson(service.baseUrl, token, 'POST', path, body);
  const { id } = await call('/admin/subscriptions', { account_code: account, delivery: 'POLL' });
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const partnerToken = await preparePartner(server.url, id);
  const count = Number(options.polls);
  const pool = new Pool(service.baseUrl, { connections: count });
  const poll = async (body: object): Promise<Answer> => {
    const { statusCode, body: answer } = await pool.request({
      method: 'POST',
      path: POLL,
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${partnerToken}`, 'content-type': 'application/json' },
    });
    if (statusCode !== 200) throw new Error(`${statusCode} ${await answer.text()}`);
    return (await answer.json()) as Answer;
  };

  for (let n = 0; n < 200; n++) await poll({ return_immediately: true });
  const before = residentMiB(service.pid);
  let arrived = 0;
  let firstAt = 0;
  const waiting = Promise.all(
    Array.from({ length: count }, async () => {
      const { notifications } = await poll({ subscription_id: id });
      if (notifications.length > 0 && arrived++ === 0) firstAt = performance.now();
    }),
  );
  await pause(SETTLED_MS);
  const during = residentMiB(service.pid);
  const candidate = { candidate_id: 'polled', first_name: 'Ada', last_name: 'Lovelace' };
  await call(`/accounts/${account}/candidates`, { test_code: TEST_CODE, candidate });
  const bookedAt = performance.now();
  await call(`/accounts/${account}/candidates/polled/tests/${TEST_CODE}/bookings`, {
    booking_on: '2030-01-01T09:00:00Z',
    delivery_mode: 'SVC_REMOTE_PROCTORED',
  });
  await waiting;
  const memory = during - before;
  line(`memory of ${count} waiting polls`, `${memory.toFixed(1)} MiB`);
  line('from the request that books an exam until a poll returns', `${(firstAt - bookedAt).toFixed(1)} ms`);

  const queued = Number(options.queued);
  await seedNotifications(client, account, [id], queued);
  const begun = performance.now();
  let polled = 0;
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let ack: string[] = [], more = true; more || ack.length > 0;) {
        const { notifications, more_available } = await poll({ max: 100, ack, return_immediately: true });
        ack = notifications.map(({ id: one }) => one);
        polled += ack.length;
        more = more_available;
      }
    }),
  );
  line(
    `${polled} of ${queued} polled and acknowledged`,
    `${Math.round((1000 * polled) / (performance.now() - begun))}/s`,
  );

  await pool.destroy();
  await client.end();
  await service.kill('SIGTERM');
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
  return memory <= MOST_MIB && polled >= queued;
}

function line(text: string, figure: string): void {
  process.stdout.write(`${text.padEnd(60)} ${figure.padStart(12)}\n`);
}

runCommand(main);
