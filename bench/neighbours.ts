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
const QUIET = 'quiet';
/**
 * The number of tokens per second that another application requests from another address during the flood of token
 * requests.
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
  const phases: [string, Neighbour][] = [[QUIET, () => Promise.resolve(() => Promise.resolve())]];
  phases.push(...Object.entries(neighbours));
  const p99s = new Map(phases.map(([name]) => [name, { create: [] as number[], read: [] as number[] }]));
  const microseconds: number[] = [];
  const tokens: number[] = [];
  await caller.call('POST', `/accounts/${scene.accountCode}/candidates`, createBody(scene, 'seeded-1'));
  // Round 0 warms up the service and is not counted.
  for (let number = 0; number <= sizes.rounds; number++) {
    for (const [name, begin] of number % 2 === 0 ? phases : phases.toReversed()) {
      const end = await begin(number);
      const label = `${number}-${phases.findIndex(([phase]) => phase === name)}`;
      const [[creates, reads, granted], used] = await withProcessorTime(pids, () =>
        Promise.all([
          atRate(CALLS_PER_SECOND, sizes.seconds, (call) =>
            caller.call(
              'POST',
              `/accounts/${scene.accountCode}/candidates`,
              createBody(scene, `called-${label}-${call}`),
            ),
          ),
          atRate(CALLS_PER_SECOND, sizes.seconds, () => caller.call('GET', readPath(scene, 1))),
          name === FLOOD
            ? atRate(TOKENS_PER_SECOND, sizes.seconds, async () => void (await service.operatorToken()))
            : null,
        ]),
      );
      await end();
      if (number === 0) continue;
      p99s.get(name)!.create.push(quantile(creates, 0.99));
      p99s.get(name)!.read.push(quantile(reads, 0.99));
      if (granted !== null) tokens.push(quantile(granted, 0.95));
      if (name === QUIET) microseconds.push((used.service / (creates.length + reads.length)) * 1e6);
    }
  }
  await caller.close();
  return sectionOf(p99s, microseconds, tokens, sizes);
}

const TOKEN_FIGURE = 'token: p95 of another application beside a flood of token requests';

function besideOf(kind: string, name: string): string {
  return `${kind}: p99 beside ${name} to that alone`;
}

function sectionOf(
  p99s: Map<string, Record<(typeof KINDS)[number], number[]>>,
  microseconds: number[],
  tokens: number[],
  { rounds, seconds, rows }: Sizes,
): Section {
  const quiet = p99s.get(QUIET)!;
  const toQuiet = (name: string, kind: (typeof KINDS)[number]) => medianRatio(p99s.get(name)![kind], quiet[kind]);
  return {
    title: 'Neighbours',
    method:
      `The table shows the p99 of ${CALLS_PER_SECOND} creates and ${CALLS_PER_SECOND} reads a second, without other load ` +
      'and with each kind of load. ' +
      `Each figure is the median of ${rounds} rounds of ${seconds} s. Token requests: 16 clients at another address request ` +
      `tokens with passwords, without pauses and without a rate limit. Large bodies: another tenant sends each body as ` +
      `soon as the previous body is answered. Import: a file of ${rows.toLocaleString('en')} rows. Bulk job: an operator ` +
      'resends an error queue to a partner on the same machine.',
    table: [
      ['Other load', 'create, p99 ms', 'times as without load', 'read, p99 ms', 'times as without load'],
      ...[...p99s.keys()].map((name) => [
        name,
        ...KINDS.flatMap((kind) => [round(median(p99s.get(name)![kind])), round(toQuiet(name, kind))]),
      ]),
    ],
    figures: [
      ...[...p99s.keys()]
        .filter((name) => name !== QUIET)
        .flatMap((name) =>
          KINDS.map((kind) => ({
            name: besideOf(kind, name),
            value: toQuiet(name, kind),
            unit: 'ratio' as const,
            goal: { atMost: 1.5 },
          })),
        ),
      { ...ofRounds(TOKEN_FIGURE, 'ms', tokens), goal: { atMost: 1000 } },
      ofRounds('processor time of the service a call at a steady rate', 'µs', microseconds),
    ],
    asked: [
      {
        question: 'One application’s token requests beside a flood of token requests',
        measured: `p95 ${round(median(tokens))} ms`,
        judged: { [TOKEN_FIGURE]: 'ms' },
      },
      ...[...p99s.keys()].map((name) => ({
        question:
          name === QUIET ? 'One tenant, without load by others' : `One tenant, during ${name} by another tenant`,
        measured: `p99 ${KINDS.map((kind) => `of ${kind}s ${round(median(p99s.get(name)![kind]))} ms`).join(', ')}`,
        judged:
          name === QUIET
            ? {}
            : Object.fromEntries(
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
