/**
 * Whether the benchmark would notice a service that has become slower by a tenth: each section that has a service, in turn with
 * the service as it is and with one that is slowed down (planted-slowdown.ts).
 *
 * usage: npm run build && node dist/bench/self-check.js [--rounds 3] [--slower 0.1] [--only rest,…]   (the exit code is 1 when it would not)
 */
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
const SECTIONS = {
  rest: (stage: Stage) => measureRest(stage, { rounds: 3, seconds: 2 }),
  processes: (stage: Stage) => measureProcesses(stage, { rounds: 2, seconds: 2 }),
  notifications: (stage: Stage) => measureNotifications(stage, { rounds: 2, backlog: 10_000, seconds: 2 }),
  growth: (stage: Stage) => measureGrowth(stage, { rounds: 3, calls: 500, large: LARGE }),
  neighbours: (stage: Stage) => measureNeighbours(stage, { rounds: 1, seconds: 2, queued: 20_000, rows: 20_000 }),
  process: (stage: Stage) => measureProcess(stage, { starts: 5, seconds: 1 }),
};
/** What tells that the service takes longer: processor times, and the time of a start, which is hardly anything else. */
const TELLS = /processor time.* the service|^ready/;

async function timesOf(measure: (stage: Stage) => Promise<Section>): Promise<Map<string, number>> {
  const stage = await Stage.open();
  try {
    const { figures } = await measure(stage);
    return new Map(figures.filter(({ name }) => TELLS.test(name)).map(({ name, value }) => [name, value]));
  } finally {
    await stage.close();
  }
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '3' },
      slower: { type: 'string', default: '0.1' },
      only: { type: 'string', default: Object.keys(SECTIONS).join() },
    },
  });
  const slower = Number(values.slower);
  const ratios = new Map<string, number[]>();
  for (let number = 0; number < Number(values.rounds); number++)
    for (const [section, measure] of Object.entries(SECTIONS)) {
      if (!values.only.split(',').includes(section)) continue;
      const measured: Record<string, Map<string, number>> = {};
      for (const planted of number % 2 === 0 ? ['', values.slower] : [values.slower, '']) {
        process.env[PLANTED] = planted;
        measured[planted] = await timesOf(measure);
      }
      for (const [name, value] of measured[values.slower]) {
        const ratio = value / measured[''].get(name)!;
        ratios.set(name, [...(ratios.get(name) ?? []), ratio]);
        // What is known so far, since all of it takes most of an hour.
        process.stderr.write(`round ${number + 1}, ${section}, ${name}: ${round(ratio)}\n`);
      }
    }
  let isFound = true;
  for (const [name, each] of ratios) {
    // Half of what was planted is more than what two runs differ by.
    const found = median(each) > 1 + slower / 2;
    isFound &&= found;
    process.stdout.write(`${found ? '✓' : '✗'} ${name}: ${round(median(each))} (${each.map(round).join(', ')})\n`);
  }
  return isFound;
}

runCommand(main);
