/**
 * Whether the benchmark would notice a service that has become slower by a tenth: each section that has a service, in rounds with
 * the service as it is and slowed down (planted-slowdown.ts) in turn. The processes are the same, seconds apart: two runs differ by
 * more than a tenth on most machines.
 *
 * usage: npm run build && node dist/bench/self-check.js [--pairs 5] [--slower 0.1] [--only rest,…]   (the exit code is 1 when it would not)
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { runCommand } from './command.js';
import { median, round, type Section } from './figures.js';
import { measureGrowth } from './growth.js';
import { measureNeighbours } from './neighbours.js';
import { measureNotifications } from './notifications.js';
import { measureProcess } from './process.js';
import { measureProcesses } from './processes.js';
import { measureRest } from './rest.js';
import { PLANTED } from './service-process.js';
import { Stage } from './stage.js';

const LARGE = { eligibilities: 20_000, notifications: 20_000, queued: 4_000 };
const SECTIONS: Record<string, (stage: Stage, rounds: number) => Promise<Section>> = {
  rest: (stage, rounds) => measureRest(stage, { rounds, seconds: 2 }),
  processes: (stage, rounds) => measureProcesses(stage, { rounds, seconds: 2 }),
  notifications: (stage, rounds) => measureNotifications(stage, { rounds, backlog: 10_000, seconds: 1 }),
  growth: (stage, rounds) => measureGrowth(stage, { rounds, calls: 500, large: LARGE }),
  neighbours: (stage, rounds) => measureNeighbours(stage, { rounds, seconds: 3, queued: 50_000, rows: 20_000 }),
  process: (stage, rounds) => measureProcess(stage, { starts: rounds, seconds: 1 }),
};
/** What tells that the service takes longer: processor times, and the time of a start, which is hardly anything else. */
const TELLS = /processor time.* the service|^ready/;
/** Services that run have read it by then. */
const READ_MS = 300;

/** Of rounds 1 and 2, 5 and 6, … the second is slowed down, of the others the first: neither is always the later one. */
function isSlowed(round: number): boolean {
  return round % 4 === 2 || round % 4 === 3;
}

/** Rounds with the slowdown to those without, pair by pair. */
function ratiosOf(rounds: readonly number[]): number[] {
  return Array.from({ length: rounds.length / 2 }, (_, pair) => {
    const [first, second] = rounds.slice(2 * pair, 2 * pair + 2);
    return isSlowed(2 * pair + 1) ? first / second : second / first;
  });
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      pairs: { type: 'string', default: '5' },
      slower: { type: 'string', default: '0.1' },
      only: { type: 'string', default: Object.keys(SECTIONS).join() },
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'eligibility-self-check-'));
  const file = (process.env[PLANTED] = join(folder, 'slower'));
  let isFound = true;
  try {
    for (const name of values.only.split(',')) {
      writeFileSync(file, '0');
      const stage = await Stage.open({}, async (number) => {
        writeFileSync(file, isSlowed(number) ? values.slower : '0');
        await sleep(READ_MS);
      });
      try {
        const { figures } = await SECTIONS[name](stage, 2 * Number(values.pairs));
        for (const figure of figures.filter((one) => TELLS.test(one.name))) {
          const ratios = ratiosOf(figure.rounds!);
          // Half of what was planted is more than what rounds differ by.
          const found = median(ratios) > 1 + Number(values.slower) / 2;
          isFound &&= found;
          const each = ratios.map(round).join(', ');
          process.stdout.write(`${found ? '✓' : '✗'} ${figure.name}: ${round(median(ratios))} (${each})\n`);
        }
      } finally {
        await stage.close();
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return isFound;
}

runCommand(main);
