import { join } from 'node:path';
import { median, medianRatio, round, type Section } from './figures.js';
import { CONNECTIONS, Load } from './load.js';
import { withProcessorTime } from './processor-time.js';
import { clearEligibilities, seedEligibilities } from './seed.js';
import { BenchedService } from './service.js';
import { ServiceProcess } from './service-process.js';
import type { Stage } from './stage.js';

const DATABASE = 'processes';
const COUNTS = [1, 2, 4] as const;
const KINDS = ['create', 'read'] as const;
const CANDIDATES = 2_000;
const SECRETS_KEY = Buffer.alloc(32, 1).toString('base64');

interface Sizes {
  rounds: number;
  seconds: number;
}

interface Measured {
  perSecond: number;
  /** Microseconds of processor time a request. */
  service: number;
  postgres: number;
  load: number;
  connections: number;
}

/** The same load on each of one, two and four processes that answer, over one PostgreSQL, in alternating rounds. */
export async function measureProcesses(stage: Stage, { rounds, seconds: duration }: Sizes): Promise<Section> {
  const databaseUrl = await stage.createDatabase(DATABASE);
  const first = await BenchedService.start(join(stage.folder, DATABASE), databaseUrl, { SECRETS_KEY });
  const { scene } = first;
  const token = await first.clientToken();
  await first.stop();
  const processes = Array.from(
    { length: Math.max(...COUNTS) },
    (_, number) =>
      new ServiceProcess(join(stage.folder, `${DATABASE}-${number}`), {
        DATABASE_URL: databaseUrl,
        SECRETS_KEY,
        ROLES: 'api',
        RATE_LIMIT_PER_MINUTE: '0',
      }),
  );
  for (const process of processes) stage.onClear(() => process.kill('SIGTERM'));
  await Promise.all(processes.map((process) => process.start()));
  const load = await Load.start(stage.log);
  stage.onClear(() => load.stop());
  const postmaster = await stage.postmaster();

  const measure = async (count: number, kind: (typeof KINDS)[number], label: string): Promise<Measured> => {
    const used = processes.slice(0, count);
    const pids = { service: used.map(({ pid }) => pid), postgres: [postmaster], load: [load.pid] };
    await stage.withDatabase(DATABASE, async (client) => {
      await clearEligibilities(client);
      await seedEligibilities(client, scene, CANDIDATES);
    });
    await stage.settle(DATABASE);
    const [{ perSecond, requests }, seconds] = await withProcessorTime(pids, () =>
      load.run({
        url: used.map(({ baseUrl }) => baseUrl.replace('localhost', '127.0.0.1')),
        kind,
        scene,
        token,
        candidates: CANDIDATES,
        label,
        seconds: duration,
      }),
    );
    const each = (name: keyof typeof pids) => (seconds[name] / requests) * 1e6;
    const connections = await stage.withDatabase(DATABASE, async (client) => {
      const { rows } = await client.query<{ count: number }>(
        `SELECT count(*)::int FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()`,
        [DATABASE],
      );
      return rows[0].count;
    });
    return { perSecond, connections, service: each('service'), postgres: each('postgres'), load: each('load') };
  };

  const results = new Map<string, Measured[]>();
  // Round 0 warms the processes up and does not count.
  for (let number = 0; number <= rounds; number++)
    for (const kind of KINDS)
      for (const count of number % 2 === 0 ? COUNTS : COUNTS.toReversed()) {
        const measured = await measure(count, kind, `p${number}-${count}`);
        const key = `${kind} ${count}`;
        if (number > 0) results.set(key, [...(results.get(key) ?? []), measured]);
      }
  return sectionOf(results, rounds, duration);
}

function sectionOf(results: Map<string, Measured[]>, rounds: number, seconds: number): Section {
  const each = (kind: string, count: number, what: keyof Measured) =>
    results.get(`${kind} ${count}`)!.map((measured) => measured[what]);
  const of = (kind: string, count: number, what: keyof Measured) => median(each(kind, count, what));
  const toOne = (kind: string, count: number, what: keyof Measured) =>
    medianRatio(each(kind, count, what), each(kind, 1, what));
  return {
    title: 'Several processes',
    method:
      `autocannon with ${CONNECTIONS} connections to each of one, two and four processes with \`ROLES=api\` and one ` +
      `PostgreSQL; ${rounds} alternating rounds of ${seconds} s, medians. Load program and PostgreSQL share the cores with them: ` +
      'what another process can add is what these leave. Processor time in µs a request.',
    table: [
      ['', 'requests/s', 'to one process', 'service, µs', 'PostgreSQL, µs', 'load program, µs', 'connections'],
      ...KINDS.flatMap((kind) =>
        COUNTS.map((count) => [
          `${kind}, ${count} ${count === 1 ? 'process' : 'processes'}`,
          round(of(kind, count, 'perSecond')),
          round(toOne(kind, count, 'perSecond')),
          round(of(kind, count, 'service')),
          round(of(kind, count, 'postgres')),
          round(of(kind, count, 'load')),
          String(of(kind, count, 'connections')),
        ]),
      ),
    ],
    figures: KINDS.flatMap((kind) => [
      {
        name: `${kind}: requests/s of two processes to one`,
        value: toOne(kind, 2, 'perSecond'),
        unit: 'ratio' as const,
        goal: null,
      },
      {
        name: `${kind}: processor time of the service a request, two processes`,
        value: of(kind, 2, 'service'),
        unit: 'µs' as const,
        goal: null,
      },
      ...[2, 4].map((count) => ({
        name: `${kind}: the service’s processor time a request, ${count} processes to one`,
        value: toOne(kind, count, 'service'),
        unit: 'ratio' as const,
        goal: { atMost: 1.05 },
      })),
    ]),
  };
}
