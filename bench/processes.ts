import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { until, type Daemon } from '../test/proof/daemon.js';
import { installPrograms } from '../test/proof/debian.js';
import { freePort, haproxy } from '../test/proof/deployed.js';
import { median, medianRatio, ofRounds, round, type Section } from './figures.js';
import { CONNECTIONS, Load, type LoadJob } from './load.js';
import { withProcessorTime } from './processor-time.js';
import { loadUntilTold, MOST_BOOKINGS } from './rest.js';
import { clearEligibilities, clearNotifications, seedEligibilities, seedSuspendedPartner } from './seed.js';
import { BenchedService } from './service.js';
import { ServiceProcess } from './service-process.js';
import type { Stage } from './stage.js';

const DATABASE = 'processes';
const COUNTS = [1, 2] as const;
const KINDS = ['create', 'read'] as const;
/** The roles of the processes: both in one, or API and delivery in separate processes. */
const ROLES = { together: ['api,delivery'], apart: ['api', 'delivery'] } as const;
const WARM_UP_S = 1;
const MOST_PROCESSOR_TIME = 1.05;
type Kind = (typeof KINDS)[number] | 'book';
const CANDIDATES = 2_000;
const SECRETS_KEY = Buffer.alloc(32, 1).toString('base64');

interface Sizes {
  rounds: number;
  seconds: number;
}

interface Measured {
  perSecond: number;
  /** Microseconds of processor time per request. */
  service: number;
  postgres: number;
  load: number;
  proxy: number;
  connections: number;
}

/**
 * Measures one and two API processes behind one port over one PostgreSQL. It also measures bookings until they are
 * notifications, with one process of both roles and with two of one each, in alternating rounds. The port is HAProxy's
 * with deploy/haproxy/haproxy.cfg, which is installed automatically for root on Debian 12.
 */
export async function measureProcesses(stage: Stage, { rounds, seconds }: Sizes): Promise<Section> {
  installPrograms('haproxy');
  const databaseUrl = await stage.createDatabase(DATABASE);
  const first = await BenchedService.start(join(stage.folder, DATABASE), databaseUrl, { SECRETS_KEY });
  const { scene } = first;
  const token = await first.clientToken();
  await first.stop();
  const start = async (roles: readonly string[]): Promise<ServiceProcess[]> => {
    const env = {
      DATABASE_URL: databaseUrl,
      SANDBOX: 'true',
      SECRETS_KEY,
      RATE_LIMIT_PER_MINUTE: '0',
      TRUST_PROXY: 'loopback',
    };
    const processes = roles.map(
      (ROLES, number) => new ServiceProcess(join(stage.folder, `${DATABASE}-${number}`), { ...env, ROLES }),
    );
    for (const process of processes) stage.onClear(() => process.kill('SIGTERM'));
    await Promise.all(processes.map((process) => process.start()));
    return processes;
  };
  const processes = await start(Array<string>(Math.max(...COUNTS)).fill('api'));
  const load = await Load.start(stage.log);
  stage.onClear(() => load.stop());
  const postmaster = await stage.postmaster();

  /** @param used the API processes come first: the port leads to `answering` of them */
  const measure = async (
    used: readonly ServiceProcess[],
    answering: number,
    kind: Kind,
    label: string,
    duration: number,
  ): Promise<Measured> => {
    const candidates = kind === 'book' ? MOST_BOOKINGS * duration : CANDIDATES;
    await stage.withDatabase(DATABASE, async (client) => {
      await clearEligibilities(client);
      await clearNotifications(client);
      await seedEligibilities(client, scene, candidates);
    });
    await stage.settle(DATABASE);
    const { proxy, url } = await startProxy(stage, used.slice(0, answering));
    const pids = { service: used.map(({ pid }) => pid), postgres: [postmaster], load: [load.pid], proxy: [proxy.pid] };
    // Each of several processes gets as many connections as a single process would.
    const job: LoadJob = { url: Array(answering).fill(url), kind, scene, token, candidates, label, seconds: duration };
    const [{ perSecond, requests }, took] = await withProcessorTime(pids, () =>
      loadUntilTold(stage, DATABASE, load, job),
    );
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
        const used = processes.slice(0, count);
        const measured = await measure(used, count, kind, `p${number}-${count}`, seconds);
        if (number > 0) keep(`${kind} ${count}`, measured);
      }
  }
  for (const process of processes) await process.kill('SIGTERM');
  await stage.withDatabase(DATABASE, (client) => seedSuspendedPartner(client, scene.accountCode));
  const sides = Object.keys(ROLES) as (keyof typeof ROLES)[];
  for (let number = 0; number < rounds; number++)
    for (const side of number % 2 === 0 ? sides : sides.toReversed()) {
      const used = await start(ROLES[side]);
      await measure(used, 1, 'book', `w${number}-${side}`, WARM_UP_S);
      keep(`book ${side}`, await measure(used, 1, 'book', `b${number}-${side}`, seconds));
      for (const process of used) await process.kill('SIGTERM');
    }
  return sectionOf(results, rounds, seconds);
}

/** Starts the proxy with the common port of the API processes. */
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
  type Variant = (typeof COUNTS)[number] | keyof typeof ROLES;
  const each = (kind: Kind, variant: Variant, what: keyof Measured) =>
    results.get(`${kind} ${variant}`)!.map((measured) => measured[what]);
  const of = (kind: Kind, variant: Variant, what: keyof Measured) => median(each(kind, variant, what));
  const toOne = (kind: Kind, variant: Variant, what: keyof Measured) =>
    medianRatio(each(kind, variant, what), each(kind, kind === 'book' ? 'together' : 1, what));
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
      `of HAProxy (deploy/haproxy/haproxy.cfg) before them, and one PostgreSQL; bookings until they are notifications of a ` +
      `suspended partner, of one process with both roles and of two with one each; ${rounds} alternating rounds of ${seconds} s, ` +
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
      row('book, one process', 'book', 'together'),
      row('book, answers and deliveries apart', 'book', 'apart'),
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
      {
        name: 'book: requests/s of answers and deliveries apart to those of one process',
        value: toOne('book', 'apart', 'perSecond'),
        unit: 'ratio',
        goal: null,
      },
      {
        name: 'book: the service’s processor time a request, answers and deliveries apart to one process',
        value: toOne('book', 'apart', 'service'),
        unit: 'ratio',
        goal: { atMost: MOST_PROCESSOR_TIME },
      },
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
