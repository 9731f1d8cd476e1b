/**
 * One of ten partners hangs: what do the other nine notice? Rounds with all partners well and rounds with one that never
 * answers alternate; what counts is the time from the request that books to the arrival at each of the nine.
 *
 * usage: node dist/bench/noisy-neighbour.js [--rounds 8]   (goal: p95 changes by less than 10 %)
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { migrate } from '../src/platform/database/migrate.js';
import { startPartner, type Partner } from '../test/support/partner.js';
import { runCommand } from './command.js';
import { prepare, TEST_CODE } from './prepare.js';
import { ServiceProcess } from './service-process.js';

const PARTNERS = 10;
const BOOKINGS_A_ROUND = 150;
const BETWEEN_BOOKINGS_MS = 50;
const HANG: Parameters<Partner['answer']>[0] = { endless: 'silence' };

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '8' } }, strict: false });
  const folder = mkdtempSync(join(tmpdir(), 'noisy-neighbour-'));
  chmodSync(folder, 0o755);
  const server = await startEmbeddedPostgres({ dataDir: folder, database: 'bench' });
  await migrate(server.url);
  const { account, token } = await prepare(server.url);
  const service = new ServiceProcess(join(folder, 'service'), {
    DATABASE_URL: server.url,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT_PER_MINUTE: '0',
    PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8',
  });
  await service.start();
  const call = async (method: string, path: string, body?: object): Promise<Record<string, string>> => {
    const response = await fetch(service.baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Record<string, string>;
  };
  const partners = await Promise.all(Array.from({ length: PARTNERS }, () => startPartner()));
  for (const partner of partners) {
    const { id } = await call('POST', '/admin/subscriptions', {
      account_code: account,
      partner_url: partner.url,
      ca_pem: partner.caPem,
    });
    await call('POST', `/admin/subscriptions/${id}/verify`);
  }
  const [noisy, ...others] = partners;

  const round = async (name: string): Promise<number[]> => {
    for (const partner of partners) partner.requests.length = 0;
    const booked = new Map<string, number>();
    for (let n = 0; n < BOOKINGS_A_ROUND; n++) {
      const candidate = `${name}-${n}`;
      const path = `/accounts/${account}/candidates`;
      await call('POST', path, {
        test_code: TEST_CODE,
        candidate: { candidate_id: candidate, first_name: 'Ada', last_name: 'Lovelace' },
      });
      const started = performance.timeOrigin + performance.now();
      const booking = await call('POST', `${path}/${candidate}/tests/${TEST_CODE}/bookings`, {
        booking_on: '2030-01-01T09:00:00Z',
        delivery_mode: 'SVC_REMOTE_PROCTORED',
      });
      booked.set(booking['booking_code'], started);
      await pause(BETWEEN_BOOKINGS_MS);
    }
    for (const partner of others) await partner.received(BOOKINGS_A_ROUND, 20_000);
    return others.flatMap((partner) =>
      partner.requests.map(({ json, at }) => at - booked.get((json as { booking_code: string }).booking_code)!),
    );
  };

  await round('warm');
  const times: Record<'well' | 'hanging', number[]> = { well: [], hanging: [] };
  for (let n = 0; n < Number(values.rounds); n++)
    // Neither is always the first.
    for (const state of n % 2 === 0 ? (['well', 'hanging'] as const) : (['hanging', 'well'] as const)) {
      noisy.answer(state === 'hanging' ? HANG : { status: 200 });
      noisy.dropConnections();
      times[state].push(...(await round(`${state}-${n}`)));
    }
  const [well, hanging] = [p95(times.well), p95(times.hanging)];
  process.stdout.write(
    `${times.well.length + times.hanging.length} notifications to the nine others, from booking request to arrival\n` +
      `all well      p50 ${median(times.well).toFixed(1)} ms   p95 ${well.toFixed(1)} ms\n` +
      `one hanging   p50 ${median(times.hanging).toFixed(1)} ms   p95 ${hanging.toFixed(1)} ms   ratio of p95 ${(hanging / well).toFixed(2)}\n`,
  );
  await service.kill('SIGTERM');
  await Promise.all(partners.map((partner) => partner.stop()));
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

const quantile = (values: number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)];
const median = (values: number[]) => quantile(values, 0.5);
const p95 = (values: number[]) => quantile(values, 0.95);

runCommand(main);
