/**
 * A hostile tenant and a well-behaved one, side by side: rounds in which the second is alone and rounds in which the first
 * does its worst alternate; what counts is the second's p99 as a ratio to its p99 alone.
 *
 * usage: node dist/bench/hostile-neighbour.js [--rounds 4] [--calls 300]   (goal: each ratio at most 2)
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { migrate } from '../src/platform/database/migrate.js';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { runCommand } from './command.js';
import { quantile } from './figures.js';
import { prepare, TEST_CODE } from './prepare.js';
import { ServiceProcess } from './service-process.js';

const KIB = 1024;
const MIB = 1024 * KIB;
/** The two come from addresses of their own. */
const HOSTILE_ADDRESS = '127.0.0.2';
const GOOD_AT_A_TIME = 4;
const RESULTS = '/registrations/registration/results';

interface Tenant {
  readonly account: string;
  readonly token: string;
  readonly pool: Pool;
}

/** Begins an attack; answers with what ends it. */
type Attack = (tenant: Tenant, exam: string) => () => Promise<void>;

interface Contest {
  readonly name: string;
  readonly attack: Attack;
  /** What the well-behaved tenant does meanwhile. */
  readonly work: (tenant: Tenant, exam: string, count: number) => Promise<void>;
}

async function call(tenant: Tenant, method: 'GET' | 'POST', path: string, body?: string): Promise<string> {
  const { statusCode, body: answer } = await tenant.pool.request({
    method,
    path,
    body,
    headers: { authorization: `Bearer ${tenant.token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
  });
  const text = await answer.text();
  if (statusCode >= 500) throw new Error(`${method} ${path}: ${statusCode} ${text.slice(0, 300)}`);
  return text;
}

/** The same again and again, by so many at a time. */
function again(count: number, work: () => Promise<unknown>): () => Promise<void> {
  let ended = false;
  const workers = Array.from({ length: count }, async () => {
    // Being refused is what an attack is there for.
    while (!ended) await work().catch(() => undefined);
  });
  return async () => {
    ended = true;
    await Promise.all(workers);
  };
}

function dial(tenant: Tenant, head: string[]): Socket {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), localAddress: HOSTILE_ADDRESS });
  socket.on('error', () => undefined);
  socket.write([...head, `Host: ${hostname}`, `Authorization: Bearer ${tenant.token}`, '', ''].join('\r\n'));
  return socket;
}

const JSON_OF = (bytes: number) => ['Content-Type: application/json', `Content-Length: ${bytes}`];

/** Opens a connection anew whenever the service has closed it. */
function kept(count: number, make: () => Socket): () => Promise<void> {
  return again(count, async () => {
    const socket = make();
    await Promise.race([once(socket, 'close'), endOfRound()]);
    socket.destroy();
  });
}

let origin = '';
let roundOver: () => void = () => undefined;
let over = Promise.resolve();
const endOfRound = () => over;

const record = (tenant: Tenant) => async () => call(tenant, 'GET', `/accounts/${tenant.account}/candidates/exam`);
const readRecord: Contest['work'] = async (tenant) => void (await record(tenant)());

const CONTESTS: Contest[] = [
  {
    name: '1 connections that drip a result of 8 MiB',
    attack: (tenant) =>
      kept(3, () => {
        const socket = dial(tenant, [`POST ${RESULTS} HTTP/1.1`, ...JSON_OF(8 * MIB - 1)]);
        socket.write(`{"a":"${'x'.repeat(64 * KIB)}`);
        const drip = setInterval(() => socket.write('x'.repeat(2 * KIB)), 100);
        socket.once('close', () => clearInterval(drip));
        return socket;
      }),
    work: async (tenant, exam, count) => {
      const body = { examMetaData: { examCode: exam }, overAllComments: String(count), more: 'x'.repeat(300 * KIB) };
      await call(tenant, 'POST', RESULTS, JSON.stringify(body));
    },
  },
  {
    name: '2a results of 870,000 members',
    attack: (tenant) => {
      const body = `{${Array.from({ length: 870_000 }, (_, at) => `"m${at % 10}":0`).join()}}`.slice(0, 8 * MIB - 1);
      return again(1, () => call(tenant, 'POST', RESULTS, body));
    },
    work: readRecord,
  },
  {
    name: '2b creates of 256 KiB of unknown members',
    attack: (tenant) => {
      const body = `{${Array.from({ length: 15_000 }, (_, at) => `"test_cod${at}":1`).join()}}`;
      return again(1, () => call(tenant, 'POST', `/accounts/${tenant.account}/candidates`, body));
    },
    work: readRecord,
  },
  {
    name: '3 public documents without a token',
    attack: (tenant) => again(2, () => call(tenant, 'GET', '/openapi.yaml')),
    work: readRecord,
  },
  {
    name: '4 bodies announced as 1 GB',
    attack: (tenant) =>
      kept(4, () => {
        const socket = dial(tenant, [`POST /accounts/${tenant.account}/candidates HTTP/1.1`, ...JSON_OF(1e9)]);
        socket.write('x'.repeat(MIB));
        return socket;
      }),
    work: readRecord,
  },
  {
    name: '5 readers that do not read large results',
    attack: (tenant) =>
      kept(40, () => {
        const path = `/accounts/${tenant.account}/candidates/exam/tests/${TEST_CODE}/results`;
        const socket = dial(tenant, [`GET ${path} HTTP/1.1`]);
        socket.pause();
        return socket;
      }),
    work: async (tenant) =>
      void (await call(tenant, 'GET', `/accounts/${tenant.account}/candidates/exam/tests/${TEST_CODE}/results`)),
  },
];

async function tenantOf(url: string, name: string, localAddress?: string): Promise<[Tenant, string]> {
  const { account, token } = await prepare(url, name);
  const pool = new Pool(origin, { connections: 64, localAddress });
  const tenant = { account, token, pool };
  const body = { test_code: TEST_CODE, candidate: { candidate_id: 'exam', first_name: 'Ada', last_name: 'Lovelace' } };
  const made = JSON.parse(await call(tenant, 'POST', `/accounts/${account}/candidates`, JSON.stringify(body))) as {
    svc_eligiblity_id: string;
  };
  return [tenant, made.svc_eligiblity_id];
}

/** The times of so many calls of the well-behaved tenant, some at a time, in milliseconds. */
async function timesOf(
  contest: Contest,
  tenant: Tenant,
  exam: string,
  calls: number,
  first: number,
): Promise<number[]> {
  const times: number[] = [];
  let begun = 0;
  await Promise.all(
    Array.from({ length: GOOD_AT_A_TIME }, async () => {
      while (begun < calls) {
        const count = first + begun++;
        const at = performance.now();
        await contest.work(tenant, exam, count);
        times.push(performance.now() - at);
      }
    }),
  );
  return times;
}

async function main(): Promise<void> {
  const options = { rounds: { type: 'string', default: '4' }, calls: { type: 'string', default: '300' } } as const;
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
  origin = service.baseUrl;
  const [good, goodExam] = await tenantOf(server.url, 'good');
  const [hostile, hostileExam] = await tenantOf(server.url, 'hostile', HOSTILE_ADDRESS);
  // What the readers of the fifth contest read: few megabytes for one tenant, many for the other.
  const fill = (tenant: Tenant, examCode: string, note: string, bytes: number) =>
    call(tenant, 'POST', RESULTS, JSON.stringify({ examMetaData: { examCode }, note, more: 'x'.repeat(bytes) }));
  for (let revision = 0; revision < 4; revision++) await fill(hostile, hostileExam, String(revision), 7 * MIB);
  await fill(good, goodExam, 'first', 100 * KIB);

  for (const contest of CONTESTS.toSorted((a, b) => Number(b.name[0]) - Number(a.name[0]))) {
    const times: Record<'quiet' | 'hostile', number[]> = { quiet: [], hostile: [] };
    let count = 0;
    for (let round = 0; round < rounds; round++)
      // Neither is always the first.
      for (const state of round % 2 === 0 ? (['quiet', 'hostile'] as const) : (['hostile', 'quiet'] as const)) {
        over = new Promise((resolve) => (roundOver = resolve));
        const end = state === 'hostile' ? contest.attack(hostile, hostileExam) : () => Promise.resolve();
        await timesOf(contest, good, goodExam, Math.ceil(calls / 4), (count += calls));
        times[state].push(...(await timesOf(contest, good, goodExam, calls, (count += calls))));
        roundOver();
        await end();
      }
    const at = (state: 'quiet' | 'hostile', share: number) => quantile(Float64Array.from(times[state]).sort(), share);
    const [quiet, beside] = [at('quiet', 0.99), at('hostile', 0.99)];
    process.stdout.write(
      `${contest.name}\n` +
        `  alone     p50 ${at('quiet', 0.5).toFixed(1)} ms   p99 ${quiet.toFixed(1)} ms\n` +
        `  beside    p50 ${at('hostile', 0.5).toFixed(1)} ms   p99 ${beside.toFixed(1)} ms   ratio of p99 ${(beside / quiet).toFixed(2)}\n`,
    );
  }
  await Promise.all([good.pool.destroy(), hostile.pool.destroy()]);
  await service.kill('SIGTERM');
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

runCommand(main);
