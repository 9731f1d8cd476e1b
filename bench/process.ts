import { join } from 'node:path';
import { atRate, Caller } from './calls.js';
import { median, medianRatio, quantile, round, type Section } from './figures.js';
import { CONNECTIONS, Load, readPath } from './load.js';
import { peakResidentMiB } from './processor-time.js';
import { createBody } from './scene.js';
import { BenchedService } from './service.js';
import { removeDataFolder, type Stage } from './stage.js';

interface Sizes {
  starts: number;
  rounds: number;
  seconds: number;
}

const CALLS_PER_SECOND = 100;
/** More at once than the service hashes, so that there is always a queue. */
const FLOOD = 16;

/** Start, memory and what a flood of token requests leaves to everybody else. */
export async function measureProcess(stage: Stage, { starts, rounds, seconds }: Sizes): Promise<Section> {
  const dataDir = join(stage.folder, 'process');
  stage.onClear(() => Promise.resolve(removeDataFolder(dataDir)));
  // The first start makes the database.
  await (await BenchedService.start(dataDir, null)).stop();
  const readySeconds: number[] = [];
  let service!: BenchedService;
  for (let number = 0; number < starts; number++) {
    if (number > 0) await service.stop();
    service = await BenchedService.start(dataDir, null);
    readySeconds.push(service.readyAfterS);
  }
  stage.onClear(() => service.stop());
  const load = await Load.start(stage.log);
  stage.onClear(() => load.stop());
  const job = { url: service.url, scene: service.scene, token: await service.clientToken(), candidates: 1, seconds };
  await load.run({ ...job, kind: 'create', label: 'seeded' });
  await load.run({ ...job, kind: 'read', label: 'none' });
  await load.stop();
  const flood = await measureFlood(service, rounds, seconds);
  const peakMiB = peakResidentMiB(service.pid);
  await service.stop();
  const ready = median(readySeconds);
  return {
    title: 'Process',
    method:
      `Ready: from the start of the process on an existing data directory, its PostgreSQL included, to the first 200 of ` +
      `/health/ready; median of ${starts}. Memory: the largest resident set, after ${CONNECTIONS} connections created and ` +
      `read, and the flood. Flood: ${FLOOD} clients who ask for tokens by password without a pause and without a ` +
      `rate limit, while ${CALLS_PER_SECOND} creates and as many reads a second go on; ${rounds} alternating rounds of ${seconds} s, medians.`,
    table: [
      ['', 'quiet', 'flood'],
      ['create, p99 ms', round(flood.quiet.create), round(flood.flood.create)],
      ['read, p99 ms', round(flood.quiet.read), round(flood.flood.read)],
      ['tokens/s', '', round(flood.tokensPerSecond)],
      ['ready after, s', round(ready), ''],
      ['resident, MiB', '', round(peakMiB)],
    ],
    figures: [
      { name: 'ready on an existing data directory', value: ready, unit: 's', goal: { atMost: 1 } },
      { name: 'resident memory under load', value: peakMiB, unit: 'MiB', goal: { atMost: 200 } },
      ...(['create', 'read'] as const).map((kind) => ({
        name: `${kind}: p99 in a token flood to that without`,
        value: flood.ratio[kind],
        unit: 'ratio' as const,
        goal: { atMost: 1.5 },
      })),
    ],
  };
}

interface Tail {
  create: number;
  read: number;
}

async function measureFlood(service: BenchedService, rounds: number, seconds: number) {
  const { scene } = service;
  const caller = new Caller(service.url, await service.clientToken(), CONNECTIONS);
  const measured: Record<'quiet' | 'flood', Tail[]> = { quiet: [], flood: [] };
  let tokens = 0;
  for (let number = 0; number <= rounds; number++)
    for (const phase of ['quiet', 'flood'] as const) {
      const flood = phase === 'flood' ? new Flood(service) : null;
      const [create, read] = await Promise.all([
        atRate(CALLS_PER_SECOND, seconds, (call) =>
          caller.call(
            'POST',
            `/accounts/${scene.accountCode}/candidates`,
            createBody(scene, `${phase}-${number}-${call}`),
          ),
        ),
        atRate(CALLS_PER_SECOND, seconds, () => caller.call('GET', readPath(scene, 1))),
      ]);
      const granted = (await flood?.stop()) ?? 0;
      // Round 0 warms up and does not count.
      if (number === 0) continue;
      tokens += granted;
      measured[phase].push({ create: quantile(create, 0.99), read: quantile(read, 0.99) });
    }
  await caller.close();
  const tails = (phase: 'quiet' | 'flood', kind: keyof Tail) => measured[phase].map((tail) => tail[kind]);
  const middle = (phase: 'quiet' | 'flood', kind: keyof Tail) => median(tails(phase, kind));
  const ratio = (kind: keyof Tail) => medianRatio(tails('flood', kind), tails('quiet', kind));
  return {
    quiet: { create: middle('quiet', 'create'), read: middle('quiet', 'read') },
    flood: { create: middle('flood', 'create'), read: middle('flood', 'read') },
    ratio: { create: ratio('create'), read: ratio('read') },
    tokensPerSecond: tokens / (rounds * seconds),
  };
}

class Flood {
  private going = true;
  private granted = 0;
  private readonly clients: Promise<void>[];

  constructor(service: BenchedService) {
    const { url, init } = service.tokenRequest();
    this.clients = Array.from({ length: FLOOD }, async () => {
      while (this.going) {
        const answer = await fetch(url, init);
        await answer.text();
        // 429 and 503 are how a flood is to be answered.
        if (answer.ok) this.granted++;
        else if (answer.status !== 429 && answer.status !== 503) throw new Error(`${answer.status} in the flood`);
      }
    });
  }

  /** How many tokens it got. */
  async stop(): Promise<number> {
    this.going = false;
    await Promise.all(this.clients);
    return this.granted;
  }
}
