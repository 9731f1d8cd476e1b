import { join } from 'node:path';
import { CONNECTIONS, Load, type LoadResult } from './load.js';
import { median, round, type Section } from './figures.js';
import { Program } from './program.js';
import { clearEligibilities, seedEligibilities } from './seed.js';
import { createBody, type Scene } from './scene.js';
import { BenchedService } from './service.js';
import type { Stage } from './stage.js';
import type { ServerOptions } from './ceiling.js';

const CANDIDATES = 2_000;
const DATABASE = 'rest';
const PROGRAMS = ['service', 'ceiling', 'plain NestJS'] as const;
const KINDS = ['create', 'read'] as const;

type ProgramName = (typeof PROGRAMS)[number];

/** Create and read-by-key, of the service, of the ceiling and of the plain way, in alternating rounds. */
export async function measureRest(stage: Stage, { rounds, seconds }: { rounds: number; seconds: number }) {
  const databaseUrl = await stage.createDatabase(DATABASE);
  const service = await BenchedService.start(join(stage.folder, DATABASE), databaseUrl);
  stage.onClear(() => service.stop());
  const { scene } = service;
  const token = await service.clientToken();
  const options: ServerOptions = { databaseUrl, portionCode: scene.portionCode };
  const [ceiling, plain, load] = await Promise.all([
    Program.start<{ url: string }>('ceiling', options, stage.log),
    Program.start<{ url: string }>('plain-nest', options, stage.log),
    Load.start(stage.log),
  ]);
  for (const program of [ceiling, plain, load]) stage.onClear(() => program.stop());
  const urls: Record<ProgramName, string> = {
    service: service.url,
    ceiling: ceiling.ready.url,
    'plain NestJS': plain.ready.url,
  };

  await stage.withDatabase(DATABASE, (client) => seedEligibilities(client, scene, 1));
  for (const [name, url] of Object.entries(urls)) await assertSameWork(url, urls.service, scene, token, name);

  const results = new Map<string, LoadResult[]>();
  // Round 0 warms the programs up and does not count.
  for (let round = 0; round <= rounds; round++)
    for (const kind of KINDS)
      for (const name of rotated(PROGRAMS, round)) {
        await stage.withDatabase(DATABASE, async (client) => {
          await clearEligibilities(client);
          await seedEligibilities(client, scene, CANDIDATES);
        });
        await stage.settle(DATABASE);
        const result = await load.run({
          url: urls[name],
          kind,
          scene,
          token,
          candidates: CANDIDATES,
          // What the one before still had in flight must not stand in the way of this one.
          label: `r${round}${name.charAt(0)}`,
          seconds: round === 0 ? 1 : seconds,
        });
        if (round > 0) results.set(`${kind} ${name}`, [...(results.get(`${kind} ${name}`) ?? []), result]);
      }
  for (const program of [service, ceiling, plain, load]) await program.stop();
  return sectionOf(results, rounds, seconds);
}

/** Compared is like with like: what a program creates can be read by the service, and both show the same of it. */
async function assertSameWork(url: string, serviceUrl: string, scene: Scene, token: string, name: string) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const path = `/accounts/${scene.accountCode}/candidates`;
  const candidate = name.replace(' ', '-');
  const created = await fetch(url + path, { method: 'POST', headers, body: createBody(scene, candidate) });
  const text = await created.text();
  if (!created.ok) throw new Error(`${name} does not create: ${created.status} ${text}`);
  for (const reader of [url, serviceUrl]) {
    const read = await fetch(`${reader}${path}/${candidate}/tests/${scene.testCode}`, { headers });
    if ((await read.text()) !== `[${text}]`) throw new Error(`${name} creates otherwise than ${reader} reads.`);
  }
}

/** Nobody is always the first. */
function rotated<T>(list: readonly T[], by: number): T[] {
  return list.map((_, index) => list[(index + by) % list.length]);
}

function sectionOf(results: Map<string, LoadResult[]>, rounds: number, seconds: number): Section {
  const of = (kind: string, name: string, what: 'perSecond' | 'p50' | 'p99') =>
    median(results.get(`${kind} ${name}`)!.map((result) => result[what]));
  // The ratio of each round, and of those the median: what slows a whole round down slows both.
  const ratio = (kind: string, name: string, what: 'perSecond' | 'p99') =>
    median(
      results
        .get(`${kind} ${name}`)!
        .map((result, index) => result[what] / results.get(`${kind} ceiling`)![index][what]),
    );
  return {
    title: 'Create and read by key',
    method:
      `autocannon with ${CONNECTIONS} keep-alive connections, ${rounds} alternating rounds of ${seconds} s, medians. ` +
      'The ceiling is a bare node:http server with one prepared statement a request: token check and the same rows, nothing else.',
    table: [
      ['', 'requests/s', 'of the ceiling', 'p50 ms', 'p99 ms', 'p99 to the ceiling’s'],
      ...KINDS.flatMap((kind) =>
        PROGRAMS.map((name) => [
          `${kind}, ${name}`,
          round(of(kind, name, 'perSecond')),
          round(ratio(kind, name, 'perSecond')),
          round(of(kind, name, 'p50')),
          round(of(kind, name, 'p99')),
          round(ratio(kind, name, 'p99')),
        ]),
      ),
    ],
    figures: KINDS.flatMap((kind) => [
      {
        name: `${kind}: requests/s of the ceiling’s`,
        value: ratio(kind, 'service', 'perSecond'),
        unit: 'ratio' as const,
        goal: { atLeast: kind === 'create' ? 0.6 : 0.45 },
      },
      {
        name: `${kind}: p99 to the ceiling’s`,
        value: ratio(kind, 'service', 'p99'),
        unit: 'ratio' as const,
        goal: { atMost: 3 },
      },
      {
        name: `${kind}: the plain way’s requests/s of the ceiling’s`,
        value: ratio(kind, 'plain NestJS', 'perSecond'),
        unit: 'ratio' as const,
        goal: null,
      },
    ]),
  };
}
