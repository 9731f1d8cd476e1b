import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { atRate, Caller } from './calls.js';
import { median, medianRatio, ofRounds, quantile, round, type Section } from './figures.js';
import { Imports } from './imports.js';
import { CONNECTIONS, readPath } from './load.js';
import { prepare } from './prepare.js';
import { withProcessorTime } from './processor-time.js';
import { Program } from './program.js';
import type { ReceiverReady } from './receiver.js';
import { createBody } from './scene.js';
import { seedQueued } from './seed.js';
import { BenchedService } from './service.js';
import type { Stage } from './stage.js';

const DATABASE = 'neighbours';
const CALLS_PER_SECOND = 100;
const KINDS = ['create', 'read'] as const;
/**
 * The number of tokens per second that another application requests from another address, during the flood of token
 * requests and directly before or after it.
 */
const TOKENS_PER_SECOND = 2;
const FLOOD = 'a flood of token requests';
/** The attacks in hostile-attacker.ts that a hostile tenant performs. */
const ATTACKS: Readonly<Record<string, string>> = {
  [FLOOD]: 'token requests',
  'results of 8 MiB and 99,000 members': 'as many values as allowed',
  'results of 870,000 members': 'values without end',
  'creates of 256 KiB of unknown members': 'unknown members',
};
const LOOK_MS = 50;

interface Sizes {
  rounds: number;
  seconds: number;
  /** The number of notifications in the neighbour's bulk job. */
  queued: number;
  /**
   * The number of rows in each of the neighbour's imports. It is so high that no import ends during the measured calls.
   */
  rows: number;
}

/** The figures of one phase. The response times are in milliseconds. */
interface Phase {
  readonly create: number;
  readonly read: number;
  /** Null if no other application requested tokens. */
  readonly tokenP95: number | null;
  /** The processor time of the service for each call. */
  readonly microseconds: number;
}
type Phases = ReadonlyMap<string, { readonly quiet: Phase[]; readonly loaded: Phase[] }>;

/** Starts the load of another client, the neighbour. The returned function stops the load. */
type Neighbour = (round: number) => Promise<() => Promise<unknown>>;

/**
 * Measures how much heavy use by another client, the neighbour, slows calls down. The figures are the p99 of creates
 * and reads at a steady rate. They are measured with each kind of neighbour, and without a neighbour.
 */
export async function measureNeighbours(stage: Stage, sizes: Sizes): Promise<Section> {
  const databaseUrl = await stage.createDatabase(DATABASE);
  const service = await BenchedService.start(join(stage.folder, DATABASE), databaseUrl);
  stage.onClear(() => service.stop());
  const job = `a bulk job of ${sizes.queued.toLocaleString('en')} notifications`;
  const neighbours: Record<string, Neighbour> = {
    ...(await attacks(stage, databaseUrl, service)),
    'an import': imports(service, await service.clientToken(), sizes.rows),
    [job]: await bulkJob(stage, service, sizes.queued),
  };
  await stage.settle(DATABASE);
  const { scene } = service;
  const caller = new Caller(service.url, await service.clientToken(), CONNECTIONS);
  const pids = { service: [service.pid], postgres: [await stage.postmaster()] };
  const phases: Phases = new Map(Object.keys(neighbours).map((name) => [name, { quiet: [], loaded: [] }]));
  await caller.call('POST', `/accounts/${scene.accountCode}/candidates`, createBody(scene, 'seeded-1'));

  let calls = 0;
  const measure = async (requestsTokens: boolean): Promise<Phase> => {
    const [[creates, reads, tokens], used] = await withProcessorTime(pids, () =>
      Promise.all([
        atRate(CALLS_PER_SECOND, sizes.seconds, () =>
          caller.call('POST', `/accounts/${scene.accountCode}/candidates`, createBody(scene, `called-${calls++}`)),
        ),
        atRate(CALLS_PER_SECOND, sizes.seconds, () => caller.call('GET', readPath(scene, 1))),
        requestsTokens
          ? atRate(TOKENS_PER_SECOND, sizes.seconds, async () => void (await service.operatorToken()))
          : null,
      ]),
    );
    return {
      create: quantile(creates, 0.99),
      read: quantile(reads, 0.99),
      tokenP95: tokens && quantile(tokens, 0.95),
      microseconds: (used.service / (creates.length + reads.length)) * 1e6,
    };
  };
  // Round 0 warms up the service and is not counted.
  for (let number = 0; number <= sizes.rounds; number++) {
    for (const [name, begin] of Object.entries(neighbours)) {
      const { quiet, loaded } = number === 0 ? { quiet: [], loaded: [] } : phases.get(name)!;
      // Another application requests tokens in both phases, so that the figures differ only because of the flood.
      const withTokens = name === FLOOD;
      const alone = async () => quiet.push(await measure(withTokens));
      const beside = async () => {
        const end = await begin(number);
        loaded.push(await measure(withTokens));
        await end();
      };
      // The speed of a machine may change within minutes. The calls without a neighbour are therefore measured directly
      // before or after those with the neighbour.
      for (const phase of number % 2 === 0 ? [alone, beside] : [beside, alone]) await phase();
    }
  }
  await caller.close();
  return sectionOf(phases, sizes);
}

const TOKEN_FIGURE = 'token: p95 of another application beside a flood of token requests';

function besideOf(kind: string, name: string): string {
  return `${kind}: p99 beside ${name} to that alone`;
}

function sectionOf(phases: Phases, { rounds, seconds, rows }: Sizes): Section {
  const quiet = [...phases.values()].flatMap((phase) => phase.quiet);
  const loadedOf = (name: string) => phases.get(name)!.loaded;
  const timesQuiet = (name: string, kind: (typeof KINDS)[number]) =>
    medianRatio(
      loadedOf(name).map((phase) => phase[kind]),
      phases.get(name)!.quiet.map((phase) => phase[kind]),
    );
  const p99Of = (measured: readonly Phase[], kind: (typeof KINDS)[number]) =>
    round(median(measured.map((phase) => phase[kind])));
  const tokens = loadedOf(FLOOD).map(({ tokenP95 }) => tokenP95!);
  const names = [...phases.keys()];
  const measuredOf = (measured: readonly Phase[]) =>
    `p99 ${KINDS.map((kind) => `of ${kind}s ${p99Of(measured, kind)} ms`).join(', ')}`;
  return {
    title: 'Neighbours',
    method:
      `The table shows the p99 of ${CALLS_PER_SECOND} creates and ${CALLS_PER_SECOND} reads a second, without other load ` +
      'and with each kind of load. ' +
      `Each figure is the median of ${rounds} rounds of ${seconds} s. The calls without other load are measured directly ` +
      'before or after those with each kind of load. Token requests: 16 clients at another address request ' +
      `tokens with passwords, without pauses and without a rate limit. Large bodies: another tenant sends each body as ` +
      `soon as the previous body is answered. Import: a file of ${rows.toLocaleString('en')} rows. Bulk job: an operator ` +
      'resends an error queue to a partner on the same machine.',
    table: [
      ['Other load', 'create, p99 ms', 'times as without load', 'read, p99 ms', 'times as without load'],
      ['none', ...KINDS.flatMap((kind) => [p99Of(quiet, kind), round(1)])],
      ...names.map((name) => [
        name,
        ...KINDS.flatMap((kind) => [p99Of(loadedOf(name), kind), round(timesQuiet(name, kind))]),
      ]),
    ],
    figures: [
      ...names.flatMap((name) =>
        KINDS.map((kind) => ({
          name: besideOf(kind, name),
          value: timesQuiet(name, kind),
          unit: 'ratio' as const,
          goal: { atMost: 1.5 },
        })),
      ),
      { ...ofRounds(TOKEN_FIGURE, 'ms', tokens), goal: { atMost: 1000 } },
      ofRounds(
        'processor time of the service a call at a steady rate',
        'µs',
        quiet.filter(({ tokenP95 }) => tokenP95 === null).map(({ microseconds }) => microseconds),
      ),
    ],
    asked: [
      {
        question: 'One application’s token requests beside a flood of token requests',
        measured: `p95 ${round(median(tokens))} ms`,
        judged: { [TOKEN_FIGURE]: 'ms' },
      },
      { question: 'One tenant, without load by others', measured: measuredOf(quiet), judged: {} },
      ...names.map((name) => ({
        question: `One tenant, during ${name} by another tenant`,
        measured: measuredOf(loadedOf(name)),
        judged: Object.fromEntries(
          KINDS.map((kind) => [besideOf(kind, name), `times as long for ${kind}s as without this load`]),
        ),
      })),
    ],
  };
}

async function attacks(stage: Stage, databaseUrl: string, service: BenchedService): Promise<Record<string, Neighbour>> {
  const attacker = await Program.start(
    'hostile-attacker',
    { origin: service.url, tokenRequest: service.tokenRequest(), ...(await prepare(databaseUrl, 'hostile')) },
    stage.log,
  );
  stage.onClear(() => attacker.stop());
  return Object.fromEntries(
    Object.entries(ATTACKS).map(([name, attack]) => [
      name,
      async () => {
        await attacker.ask({ attack });
        return () => attacker.ask({ end: true });
      },
    ]),
  );
}

function imports(service: BenchedService, token: string, rows: number): Neighbour {
  const files = new Imports(service.url, service.scene, token);
  return async (number) => {
    const id = await files.send(`imported-${number}`, rows);
    return async () => {
      if ((await files.state(id)).state !== 'RUNNING') throw new Error('The import ended before its time.');
      await files.abort(id);
    };
  };
}

/**
 * Resends a partner's whole error queue. After each round, the job is aborted, and the next round resends the remaining
 * notifications.
 */
async function bulkJob(stage: Stage, service: BenchedService, queued: number): Promise<Neighbour> {
  const receiver = await Program.start<ReceiverReady>('receiver', {}, stage.log);
  stage.onClear(() => receiver.stop());
  const operator = await service.operatorToken();
  const subscription_id = await service.subscribe(operator, receiver.ready);
  await stage.withDatabase(DATABASE, (client) =>
    seedQueued(client, service.scene.accountCode, subscription_id, queued),
  );
  const stateOf = async (id: string) =>
    (await service.call<{ state: string }>(operator, 'GET', `/admin/jobs/${id}`)).state;
  return async () => {
    const { job_id } = await service.call<{ job_id: string }>(operator, 'POST', '/admin/error-queue/resend', {
      filter: { subscription_id },
      reason: 'They are well again',
    });
    return async () => {
      if ((await stateOf(job_id)) === 'DONE') throw new Error('The bulk job ended before its time.');
      await service.call(operator, 'POST', `/admin/jobs/${job_id}/abort`);
      // An aborted job may still have running attempts, which must end before the next round.
      while (!(await stage.withDatabase(DATABASE, (client) => isNothingOwed(client)))) await pause(LOOK_MS);
    };
  };
}

async function isNothingOwed(client: { query: (text: string) => Promise<{ rows: unknown[] }> }): Promise<boolean> {
  return (await client.query('SELECT FROM deliveries LIMIT 1')).rows.length === 0;
}
