import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { until, type Daemon } from '../test/proof/daemon.js';
import { installPrograms } from '../test/proof/debian.js';
import { freePort, haproxy } from '../test/proof/deployed.js';
import { median, medianRatio, ofRounds, round, type Section } from './figures.js';
import { CONNECTIONS, Load, type LoadJob } from './load.js';
import { withProcessorTime } from './processor-time.js';
import { clearEligibilities, seedEligibilities } from './seed.js';
import { BenchedService } from './service.js';
import { ServiceProcess } from './service-process.js';
import type { Stage } from './stage.js';

const DATABASE = 'processes';
const COUNTS = [1, 2] as const;
const KINDS = ['create', 'read'] as const;
const MOST_PROCESSOR_TIME = 1.05;
type Kind = (typeof KINDS)[number];
const CANDIDATES = 2_000;
const SECRETS_KEY = Buffer.alloc(32, 1).toString('base64');

interface Sizes {
  rounds: number;
  seconds: number;
}

interface Measured {
  perSecond: number;
  /** The processor time of the service per request, in microseconds. */
  service: number;
  postgres: number;
  load: number;
  proxy: number;
  connections: number;
}

/**
 * Measures one and two API processes on one PostgreSQL, in alternating rounds. The processes share one port of HAProxy,
 * which uses deploy/haproxy/haproxy.cfg. If the benchmark runs as root on Debian 12, it installs HAProxy automatically.
 */
export async function measureProcesses(stage: Stage, { rounds, seconds }: Sizes): Promise<Section> {
  installPrograms('haproxy');
  const databaseUrl = await stage.createDatabase(DATABASE);
  const first = await BenchedService.start(join(stage.folder, DATABASE), databaseUrl, { SECRETS_KEY });
  const { scene } = first;
  const token = await first.clientToken();
  await first.stop();
  const env = {
    DATABASE_URL: databaseUrl,
    SANDBOX: 'true',
    SECRETS_KEY,
    RATE_LIMIT_PER_MINUTE: '0',
    TRUST_PROXY: 'loopback',
    ROLES: 'api',
  };
  const processes = COUNTS.map((count) => new ServiceProcess(join(stage.folder, `${DATABASE}-${count}`), env));
  for (const process of processes) stage.onClear(() => process.kill('SIGTERM'));
  await Promise.all(processes.map((process) => process.start()));
  const load = await Load.start(stage.log);
  stage.onClear(() => load.stop());
  const postmaster = await stage.postmaster();

  const measure = async (count: number, kind: Kind, label: string): Promise<Measured> => {
    const used = processes.slice(0, count);
    await stage.withDatabase(DATABASE, async (client) => {
      await clearEligibilities(client);
      await seedEligibilities(client, scene, CANDIDATES);
    });
    await stage.settle(DATABASE);
    const { proxy, url } = await startProxy(stage, used);
    const pids = { service: used.map(({ pid }) => pid), postgres: [postmaster], load: [load.pid], proxy: [proxy.pid] };
    // Each process gets as many connections as a single process would get.
    const job: LoadJob = { url: Array(count).fill(url), kind, scene, token, candidates: CANDIDATES, label, seconds };
    const [{ perSecond, requests }, took] = await withProcessorTime(pids, () => load.run(job));
    await proxy.kill('SIGTERM');
    const each = (name: keyof typeof pids) => (took[name] / requests) * 1e6;
    const connections = await stage.withDatabase(DATABASE, async (client) => {
      const { rows } = await client.query<{ count: number }>(
        `SELECT count(*)::int FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()`,
        [DATABASE],
      );
      return rows[0].count;
    });
    return {
      perSecond,
      connections,
      service: each('service'),
      postgres: each('postgres'),
      load: each('load'),
      proxy: each('proxy'),
    };
  };

  const results = new Map<string, Measured[]>();
  const keep = (key: string, measured: Measured) => results.set(key, [...(results.get(key) ?? []), measured]);
  // Round 0 warms up the processes and is not counted.
  for (let number = 0; number <= rounds; number++) {
    for (const kind of KINDS)
      for (const count of number % 2 === 0 ? COUNTS : COUNTS.toReversed()) {
        const measured = await measure(count, kind, `p${number}-${count}`);
        if (number > 0) keep(`${kind} ${count}`, measured);
      }
  }
  for (const process of processes) await process.kill('SIGTERM');
  return sectionOf(results, rounds, seconds);
}

/** Starts HAProxy on the port that the API processes share. */
async function startProxy(stage: Stage, processes: readonly ServiceProcess[]): Promise<{ proxy: Daemon; url: string }> {
  const port = await freePort();
  const servers = processes.map(({ baseUrl }, number) => `  server api${number + 1} ${new URL(baseUrl).host}`);
  const folder = join(stage.folder, `proxy-${port}`);
  mkdirSync(folder, { recursive: true });
  const proxy = haproxy(folder, ['haproxy.cfg'], {
    'bind :8080': `bind 127.0.0.1:${port}`,
    'bind :8404': `bind 127.0.0.1:${await freePort()}`,
    '  server api1 api-1:3000\n  server api2 api-2:3000': servers.join('\n').replaceAll('localhost', '127.0.0.1'),
  });
  proxy.start();
  stage.onClear(() => proxy.kill('SIGTERM'));
  const url = `http://127.0.0.1:${port}`;
  await until('the proxy answers', async () => (await fetch(`${url}/health/ready`)).ok, 10_000);
  return { proxy, url };
}

function sectionOf(results: Map<string, Measured[]>, rounds: number, seconds: number): Section {
  type Variant = (typeof COUNTS)[number];
  const each = (kind: Kind, variant: Variant, what: keyof Measured) =>
    results.get(`${kind} ${variant}`)!.map((measured) => measured[what]);
  const of = (kind: Kind, variant: Variant, what: keyof Measured) => median(each(kind, variant, what));
  const toOne = (kind: Kind, variant: Variant, what: keyof Measured) =>
    medianRatio(each(kind, variant, what), each(kind, 1, what));
  const row = (name: string, kind: Kind, variant: Variant) => [
    name,
    round(of(kind, variant, 'perSecond')),
    round(toOne(kind, variant, 'perSecond')),
    round(of(kind, variant, 'service')),
    round(of(kind, variant, 'postgres')),
    round(of(kind, variant, 'proxy')),
    round(of(kind, variant, 'load')),
    String(of(kind, variant, 'connections')),
  ];
  return {
    title: 'Several processes',
    method:
      `autocannon with ${CONNECTIONS} connections for each of one and two processes with \`ROLES=api\`, to the one port ` +
      `of HAProxy (deploy/haproxy/haproxy.cfg) before them, and one PostgreSQL; ${rounds} alternating rounds of ${seconds} s, ` +
      'medians. Load program, proxy and PostgreSQL share the cores with them: what another process can add is what these leave. ' +
      'Processor time in µs a request.',
    table: [
      [
        '',
        'requests/s',
        'to one process',
        'service, µs',
        'PostgreSQL, µs',
        'proxy, µs',
        'load program, µs',
        'connections',
      ],
      ...KINDS.flatMap((kind) =>
        COUNTS.map((count) => row(`${kind}, ${count} ${count === 1 ? 'process' : 'processes'}`, kind, count)),
      ),
    ],
    figures: [
      ...KINDS.flatMap((kind) => [
        {
          name: `${kind}: requests/s of two processes behind one port to one`,
          value: toOne(kind, 2, 'perSecond'),
          unit: 'ratio' as const,
          goal: null,
        },
        ofRounds(
          `${kind}: processor time of the service a request, two processes behind one port`,
          'µs',
          each(kind, 2, 'service'),
        ),
        {
          name: `${kind}: the service’s processor time a request, two processes behind one port to one`,
          value: toOne(kind, 2, 'service'),
          unit: 'ratio' as const,
          goal: { atMost: MOST_PROCESSOR_TIME },
        },
      ]),
    ],
    asked: KINDS.map((kind) => ({
      question: `Two processes behind one proxy: ${kind}`,
      measured: `${round(toOne(kind, 2, 'perSecond'))} times the requests a second of one process`,
      judged: {
        [`${kind}: the service’s processor time a request, two processes behind one port to one`]:
          'times the processor time of one process for each request',
      },
    })),
  };
}
