/**
 * Measures how long a failover takes, and tests that it loses nothing.
 *
 * The test environment has three simulated machines (network namespaces), each with etcd, Patroni and PostgreSQL. It
 * also has HAProxy, pgbouncer, three processes of the service (two of them with the API), a partner that accepts
 * everything, and a partner that answers 429 above its rate limit. The program creates bookings, imports, erasures,
 * results and bulk jobs at the same time. HAProxy and pgbouncer use the configurations in deploy/. Two processes list
 * the servers in DATABASE_URL. The third process connects through pgbouncer and HAProxy. Each round causes one kind of
 * failure (harm.ts), repairs it, and checks:
 *
 * - lost: changes that were acknowledged and are missing, or were stored and never reached the partner;
 * - invented: changes of which the partner was notified, but which are not stored;
 * - disorder: bookings whose events have a gap, overtook each other, were in flight twice, were duplicated without a
 *   cause, or arrived in a sequence that the model cannot explain;
 * - work: acknowledged imports, erasures, bulk jobs and results whose effects are wrong or missing;
 * - feed: acknowledged changes that the change feed lacks or shows twice, or that a client following the feed missed.
 *
 * usage: npm run failover [-- --rounds N] [--replication synchronous|asynchronous] [--behind MS] [--confirm N] [--kind
 * KIND]
 *
 * With asynchronous replication, the program causes only failures after which a standby is promoted. When the failure
 * occurs, the standbys lag by `--behind` milliseconds (default 1000). The exit code is 1 when a round with synchronous
 * replication finds anything. Needs root on Debian 12.
 */
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { migrate } from '../../../src/platform/database/migrate.js';
import { runCommand } from '../../../bench/command.js';
import { until } from '../daemon.js';
import { installPrograms } from '../debian.js';
import { freePort, haproxy, pgbouncer } from '../deployed.js';
import { ServiceProcess } from '../../../bench/service-process.js';
import { HARMS, shuffledBag } from './harm.js';
import { closeNetwork, Machine, openNetwork } from './network.js';
import { ask, DatabaseCluster } from './patroni.js';
import { playRound, type Outcome, type Scene } from './round.js';
import { faultsOf, lineOf, tableOf } from './table.js';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    replication: { type: 'string', default: 'synchronous' },
    behind: { type: 'string', default: '1000' },
    confirm: { type: 'string', default: '0' },
    kind: { type: 'string' },
  },
});

const synchronous = options.replication !== 'asynchronous';
const machines = [1, 2, 3].map((number) => new Machine(`eligibility-db${number}`, number));

async function main(): Promise<boolean> {
  installPrograms('postgres', 'patroni', 'etcd', 'haproxy', 'pgbouncer', 'ip');
  const stops: (() => Promise<unknown> | void)[] = [];
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    for (const one of stops.reverse()) await Promise.resolve(one()).catch(() => undefined);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().then(() => process.exit(1)));
  try {
    const scene = await setUp((end) => stops.push(end));
    return await play(scene);
  } finally {
    await stop();
  }
}

async function play(scene: Scene): Promise<boolean> {
  const rounds = Number(options.rounds);
  const harms = HARMS.filter(({ kind, promotes }) =>
    options.kind === undefined ? synchronous || isPlayedBehind(kind, promotes) : kind === options.kind,
  );
  if (harms.length === 0) throw new Error(`--kind is one of: ${HARMS.map(({ kind }) => kind).join(', ')}.`);
  const next = shuffledBag(harms);
  const outcomes: Outcome[] = [];
  for (let number = 1; number <= rounds; number++) {
    const outcome = await playRound(scene, next(), number);
    outcomes.push(outcome);
    process.stdout.write(`${number}/${rounds} ${lineOf(outcome)}\n`);
  }
  process.stdout.write(`\n${tableOf(outcomes)}\n`);
  return !synchronous || outcomes.every((one) => faultsOf(one).every((count) => count === 0));
}

/**
 * Returns whether the program can cause the failure while the standbys lag. The program makes the standbys lag by
 * changing network routes, which also cuts the primary's machine off from etcd. Without etcd, Patroni does not replace
 * a primary if only its PostgreSQL was killed.
 */
function isPlayedBehind(kind: string, promotes: string | null): boolean {
  return promotes !== null && kind !== 'primary';
}

async function setUp(onEnd: (end: () => Promise<unknown> | void) => void): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'failover-'));
  chmodSync(folder, 0o755);
  if (!process.env['FAILOVER_KEEP']) onEnd(() => rm(folder, { recursive: true, force: true }));
  process.stdout.write(`Logs are in ${folder} until the end.\n`);
  const password = randomBytes(16).toString('hex');
  const cluster = new DatabaseCluster(machines, { folder, password, synchronous });
  onEnd(() => cluster.remove());
  openNetwork(machines);
  onEnd(() => closeNetwork(machines));
  await cluster.start();
  const superuser = (await cluster.primary()).url('postgres');
  await ask(superuser, `CREATE ROLE eligibility LOGIN PASSWORD '${password}' IN ROLE pg_read_all_stats`);
  await ask(superuser, 'CREATE DATABASE eligibility OWNER eligibility');

  const [port, direct, pooled, status, ...own] = await Promise.all(Array.from({ length: 7 }, freePort));
  const proxy = haproxy(folder, ['haproxy.cfg', 'postgresql.cfg'], {
    'bind :8080': `bind 127.0.0.1:${port}`,
    'bind :8404': `bind 127.0.0.1:${status}`,
    'bind :5000': `bind 127.0.0.1:${direct}`,
    'api-1:3000': `127.0.0.1:${own[0]}`,
    'api-2:3000': `127.0.0.1:${own[1]}`,
    ...Object.fromEntries(machines.map((machine) => [`db-${machine.number}:5432`, `${machine.address}:5432`])),
  });
  onEnd(() => proxy.kill());
  const pooler = pgbouncer(folder, {
    database: { host: '127.0.0.1', port: direct },
    user: 'eligibility',
    password,
    port: pooled,
  });
  onEnd(() => pooler.kill());
  proxy.start();
  pooler.start();

  const baseUrl = `http://127.0.0.1:${port}`;
  const servers = machines.map(({ address }) => `${address}:5432`).join();
  const listing = `postgres://eligibility:${password}@${servers}/eligibility?target_session_attrs=read-write`;
  const throughPooler = `postgres://eligibility:${password}@127.0.0.1:${pooled}/eligibility`;
  await migrate(listing);
  const secretsKey = randomBytes(32).toString('base64');
  const services = ['api,delivery', 'api,delivery', 'delivery'].map(
    (roles, index) =>
      new ServiceProcess(join(folder, `service-${index}`), {
        DATABASE_URL: index < 2 ? listing : throughPooler,
        SECRETS_KEY: secretsKey,
        ROLES: roles,
        HOST: '127.0.0.1',
        PORT: String(own[index]),
        BASE_URL: baseUrl,
        TRUST_PROXY: '1',
        PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
        RATE_LIMIT_PER_MINUTE: '0',
        RETRY_SCHEDULE_S: '0.2,0.5,1',
        CONFIRM_REPLICATED: options.confirm,
      }),
  );
  for (const service of services) onEnd(() => service.kill('SIGTERM'));
  await Promise.all(services.map((service) => service.start()));
  await until('the proxy answers', async () => (await fetch(`${baseUrl}/health/ready`)).ok, 30_000);
  return { cluster, proxy, pooler, services, baseUrl, behindMs: synchronous ? 0 : Number(options.behind) };
}

runCommand(main);
