/**
 * Measures an account with many subscriptions: the time to create and to read a subscription, and the duration and
 * processor time of an event's delivery. The first event needs a new connection to each partner, and is therefore
 * measured separately from later events.
 *
 * usage: node dist/bench/many-subscriptions.js [--subscriptions 2000] [--events 3]
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { migrate } from '../src/platform/database/migrate.js';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { Caller, callJson } from './calls.js';
import { runCommand } from './command.js';
import { median } from './figures.js';
import { PartnerFarm } from './partner-farm.js';
import { prepare, TEST_CODE } from './prepare.js';
import { processorSeconds } from './processor-time.js';
import { ServiceProcess } from './service-process.js';
import { postmasterOf } from '../test/support/postmaster.js';

const READS = 50;
const ARRIVE_MS = 300_000;
const LEFT = `SELECT (SELECT count(*) FROM domain_events WHERE settled_at IS NULL) + (SELECT count(*) FROM deliveries) AS n`;

const { values: options } = parseArgs({
  options: { subscriptions: { type: 'string', default: '2000' }, events: { type: 'string', default: '3' } },
});

/** Returns the processor time of the service and of PostgreSQL, in seconds. */
type Used = () => [service: number, database: number];

async function measure(
  service: ServiceProcess,
  client: pg.Client,
  farm: PartnerFarm,
  account: string,
  token: string,
  used: Used,
): Promise<void> {
  const count = Number(options.subscriptions);
  const call = (method: string, path: string, body: object) => callJson(service.baseUrl, token, method, path, body);
  const ids: string[] = [];
  let before = performance.now();
  for (let n = 0; n < count; n++) {
    const body = { account_code: account, partner_url: farm.url('well', n), ca_pem: farm.caPem };
    ids.push((await call('POST', '/admin/subscriptions', body)).id);
  }
  line('create a subscription', (performance.now() - before) / count);
  const caller = new Caller(service.baseUrl, token, 8);
  const reads: number[] = [];
  for (let n = 0; n < READS; n++) {
    before = performance.now();
    await caller.call('GET', `/admin/subscriptions/${ids[(n * 37) % count]}`);
    reads.push(performance.now() - before);
  }
  line('read a subscription (median)', median(reads));
  before = performance.now();
  await Promise.all(ids.slice(0, READS).map((id) => caller.call('POST', `/admin/subscriptions/${id}/verify`)));
  line('verify a subscription', (performance.now() - before) / READS);
  await caller.close();
  await client.query(`UPDATE subscriptions SET state = 'ACTIVE' WHERE account_code = $1`, [account]);
  for (let n = 0; n < Number(options.events); n++) {
    farm.arrivals = [];
    const [wasService, wasDatabase] = used();
    before = performance.timeOrigin + performance.now();
    await book(call, account, `candidate-${n}`);
    await until(() => Promise.resolve(farm.arrivals.length >= count));
    const times = farm.arrivals.map(({ at }) => at - before).sort((one, other) => one - other);
    await until(async () => (await client.query<{ n: string }>(LEFT)).rows[0].n === '0');
    const [isService, isDatabase] = used();
    const name = n === 0 ? 'the first event' : 'a later event';
    line(`${name}: half of the partners`, times[Math.floor(count / 2)]);
    line(`${name}: all partners`, times[count - 1]);
    line(`${name}: processor of the service for each partner`, (1000 * (isService - wasService)) / count);
    line(`${name}: processor of PostgreSQL for each partner`, (1000 * (isDatabase - wasDatabase)) / count);
  }
}

async function book(
  call: (method: string, path: string, body: object) => Promise<unknown>,
  account: string,
  candidate_id: string,
): Promise<void> {
  const path = `/accounts/${account}/candidates`;
  const candidate = { candidate_id, first_name: 'Ada', last_name: 'Lovelace' };
  await call('POST', path, { test_code: TEST_CODE, candidate });
  const booking = { booking_on: '2030-01-01T09:00:00Z', delivery_mode: 'SVC_REMOTE_PROCTORED' };
  await call('POST', `${path}/${candidate_id}/tests/${TEST_CODE}/bookings`, booking);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + ARRIVE_MS;
  while (!(await isSo())) {
    if (performance.now() > giveUpAt) throw new Error('Some notifications did not arrive or were not recorded.');
    await pause(50);
  }
}

function line(text: string, ms: number): void {
  process.stdout.write(`${text.padEnd(60)} ${ms.toFixed(2).padStart(10)} ms\n`);
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'many-subscriptions-'));
  chmodSync(folder, 0o755);
  const server = await startEmbeddedPostgres({ dataDir: folder, database: 'bench' });
  await migrate(server.url);
  const { account, token } = await prepare(server.url);
  const farm = await PartnerFarm.start();
  const service = new ServiceProcess(join(folder, 'service'), {
    DATABASE_URL: server.url,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT_PER_MINUTE: '0',
    PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8',
  });
  const client = new pg.Client({ connectionString: server.url });
  try {
    await service.start();
    await client.connect();
    const postmaster = await postmasterOf(client);
    const used: Used = () => [processorSeconds(service.pid), processorSeconds(postmaster)];
    await measure(service, client, farm, account, token, used);
  } finally {
    await client.end();
    await service.kill('SIGTERM');
    farm.stop();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

runCommand(main);
