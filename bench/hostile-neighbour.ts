/**
 * Measures a well-behaved tenant next to a hostile tenant, in alternating rounds with and without the attack. The
 * figure is the well-behaved tenant's p99 during the attack divided by its p99 without the attack. Each p99 is the
 * median of the rounds. For attacks that list, export or read the feed, the p95 is used instead.
 *
 * In a third kind of round, the hostile tenant attacks a separate program that does no work. These rounds show how much
 * of the slowdown comes only from the competition for processor cores.
 *
 * usage: node dist/bench/hostile-neighbour.js [--rounds 5] [--calls 1000] [--contest 3]   (goal: each ratio at most 2)
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { migrate } from '../src/platform/database/migrate.js';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { runCommand } from './command.js';
import { median, quantile } from './figures.js';
import { prepare, TEST_CODE } from './prepare.js';
import { Program } from './program.js';
import { ServiceProcess } from './service-process.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const GOOD_AT_A_TIME = 4;
const WARM_CALLS = 100;
const FILLED = 5_000;
const RESULTS = '/registrations/registration/results';

interface Tenant {
  readonly account: string;
  readonly token: string;
  readonly exam: string;
  readonly pool: Pool;
}

interface Contest {
  readonly name: string;
  /** The name of the attack in hostile-attacker.ts. */
  readonly attack: string;
  /** The calls that the well-behaved tenant makes during the attack. */
  readonly work: (tenant: Tenant, count: number) => Promise<unknown>;
  /** The measured quantile of the durations; 0.99 by default. */
  readonly quantile?: number;
}

async function call(
  { pool, token }: Pick<Tenant, 'pool' | 'token'>,
  method: 'GET' | 'POST',
  path: string,
  body?: string,
): Promise<string> {
  const { statusCode, body: answer } = await pool.request({
    method,
    path,
    body,
    headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
  });
  const text = await answer.text();
  if (statusCode >= 300) throw new Error(`${method} ${path}: ${statusCode} ${text.slice(0, 300)}`);
  return text;
}

const deliver = (tenant: Tenant, note: string, bytes: number) =>
  call(
    tenant,
    'POST',
    RESULTS,
    JSON.stringify({ examMetaData: { examCode: tenant.exam }, note, more: 'x'.repeat(bytes) }),
  );
const readRecord: Contest['work'] = (tenant) => call(tenant, 'GET', `/accounts/${tenant.account}/candidates/exam`);
const readResults: Contest['work'] = (tenant) =>
  call(tenant, 'GET', `/accounts/${tenant.account}/candidates/exam/tests/${TEST_CODE}/results`);

const create: Contest['work'] = (tenant, count) =>
  call(
    tenant,
    'POST',
    `/accounts/${tenant.account}/candidates`,
    JSON.stringify({
      test_code: TEST_CODE,
      candidate: { candidate_id: `created-${count}`, first_name: 'Ada', last_name: 'Lovelace' },
    }),
  );

const CONTESTS: Contest[] = [
  {
    name: '1 connections that drip a result of 8 MiB; the other delivers results of 300 KiB',
    attack: 'drip',
    work: (tenant, count) => deliver(tenant, String(count), 300 * KIB),
  },
  { name: '2a results of 870,000 members', attack: 'values without end', work: readRecord },
  { name: '2b creates of 256 KiB of unknown members', attack: 'unknown members', work: readRecord },
  { name: '2c results of 8 MiB and 99,000 members', attack: 'as many values as allowed', work: readRecord },
  { name: '3 public documents without a token', attack: 'documents', work: readRecord },
  { name: '4 bodies announced as 1 GB', attack: 'announced gigabytes', work: readRecord },
  { name: '5 readers that do not read large results', attack: 'readers that do not read', work: readResults },
  { name: '6a twenty that list', attack: 'lists', work: create, quantile: 0.95 },
  { name: '6b four that export', attack: 'exports', work: create, quantile: 0.95 },
  { name: '6c twenty that read the feed', attack: 'feed', work: create, quantile: 0.95 },
];

async function tenantOf(url: string, origin: string, name: string): Promise<Tenant> {
  const { account, token } = await prepare(url, name);
  const pool = new Pool(origin, { connections: GOOD_AT_A_TIME });
  const body = { test_code: TEST_CODE, candidate: { candidate_id: 'exam', first_name: 'Ada', last_name: 'Lovelace' } };
  const made = await call({ token, pool }, 'POST', `/accounts/${account}/candidates`, JSON.stringify(body));
  return { account, token, pool, exam: (JSON.parse(made) as { svc_eligiblity_id: string }).svc_eligiblity_id };
}

/** Creates the eligibility records that the hostile tenant lists and exports. */
async function fill(tenant: Tenant, origin: string): Promise<void> {
  const rows = Array.from({ length: FILLED }, (_, row) => {
    const candidate = { candidate_id: `filled-${row}`, first_name: 'Ada', last_name: 'Lovelace' };
    return JSON.stringify({ test_code: TEST_CODE, candidate });
  });
  const path = `/accounts/${tenant.account}/eligibility-imports`;
  const answer = await fetch(origin + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.token}`, 'content-type': 'application/x-ndjson' },
    body: rows.join('\n'),
  });
  const { import_id: id } = (await answer.json()) as { import_id: string };
  while ((JSON.parse(await call(tenant, 'GET', `${path}/${id}`)) as { state: string }).state === 'RUNNING')
    await pause(200);
}

/**
 * Makes the given number of calls as the well-behaved tenant, several at a time. Returns their durations in
 * milliseconds, sorted.
 */
async function timesOf({ work }: Contest, tenant: Tenant, calls: number, first: number): Promise<Float64Array> {
  const times: number[] = [];
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < calls) {
      const count = first + begun++;
      const at = performance.now();
      await work(tenant, count);
      times.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: GOOD_AT_A_TIME }, worker));
  return Float64Array.from(times).sort();
}

const STATES = ['alone', 'elsewhere', 'beside'] as const;

async function main(): Promise<boolean> {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const options = { rounds: text('5'), calls: text('1000'), contest: text('') };
  const { values } = parseArgs({ options, strict: false });
  const [rounds, calls] = [Number(values.rounds), Number(values.calls)];
  const folder = mkdtempSync(join(tmpdir(), 'hostile-neighbour-'));
  chmodSync(folder, 0o755);
  const server = await startEmbeddedPostgres({ dataDir: folder, database: 'bench' });
  await migrate(server.url);
  const service = new ServiceProcess(join(folder, 'service'), {
    DATABASE_URL: server.url,
    HOST: '127.0.0.1',
    SECRETS_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT_PER_MINUTE: '1000000',
  });
  await service.start();
  const good = await tenantOf(server.url, service.baseUrl, 'good');
  const hostile = await tenantOf(server.url, service.baseUrl, 'hostile');
  // The hostile tenant reads results of many megabytes, and the well-behaved tenant reads a small result.
  for (let revision = 0; revision < 4; revision++) await deliver(hostile, String(revision), 7 * MIB);
  await deliver(good, 'first', 100 * KIB);
  await fill(hostile, service.baseUrl);
  const document = await call(good, 'GET', '/openapi.yaml');
  const idle = await Program.start<string>('idle-server', { bytes: document.length }, '/dev/null');
  const { account, token } = hostile;
  const attackers = {
    alone: null,
    elsewhere: await Program.start('hostile-attacker', { origin: idle.ready, account, token }, '/dev/null'),
    beside: await Program.start('hostile-attacker', { origin: service.baseUrl, account, token }, '/dev/null'),
  };

  const ratios: number[] = [];
  // The counter is never reset, so that calls during different attacks do not create the same candidate.
  let count = 0;
  for (const contest of CONTESTS.filter(({ name }) => name.startsWith(values.contest as string)).toReversed()) {
    const p50: Record<(typeof STATES)[number], number[]> = { alone: [], elsewhere: [], beside: [] };
    const high: typeof p50 = { alone: [], elsewhere: [], beside: [] };
    const counted = contest.quantile ?? 0.99;
    let attacks = 0;
    for (let round = 0; round < rounds; round++)
      // The order of the rounds alternates, so that no kind of round always benefits from being first.
      for (const at of STATES.keys()) {
        const state = STATES[(at + round) % STATES.length];
        const attacker = attackers[state];
        await attacker?.ask({ attack: contest.attack });
        await timesOf(contest, good, WARM_CALLS, (count += calls));
        const times = await timesOf(contest, good, calls, (count += calls));
        const went = await attacker?.ask<{ rounds: number }>({ end: true });
        if (state === 'beside') attacks += went!.rounds;
        p50[state].push(quantile(times, 0.5));
        high[state].push(quantile(times, counted));
      }
    const ratio = median(high.beside) / median(high.alone);
    ratios.push(ratio);
    process.stdout.write(`${contest.name} (${Math.round(attacks / rounds)} attacks a round)\n`);
    for (const state of STATES)
      process.stdout.write(
        `  ${state.padEnd(9)}  p50 ${median(p50[state]).toFixed(1)} ms   p${counted * 100} ${median(high[state]).toFixed(1)} ms` +
          `   ratio ${(median(high[state]) / median(high.alone)).toFixed(2)}   rounds ${high[state].map((ms) => ms.toFixed(0)).join(' ')}\n`,
      );
  }
  for (const program of [attackers.elsewhere, attackers.beside, idle]) await program.stop();
  await Promise.all([good.pool.destroy(), hostile.pool.destroy()]);
  await service.kill('SIGTERM');
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
  return ratios.every((ratio) => ratio <= 2);
}

runCommand(main);
