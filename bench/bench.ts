/**
 * Runs the benchmark: `npm run bench [-- --quick | --full]
 * [--only=machine,rest,processes,notifications,growth,neighbours,process]`.
 *
 * The benchmark starts everything that it needs, on a separate PostgreSQL. The compared programs run in alternating
 * rounds, so that a disturbance on the machine slows all of them. No minimum speed is required. A failed request or a
 * crashed program ends the run with exit code 1.
 */
import { availableParallelism, cpus } from 'node:os';
import type { Section } from './figures.js';
import { measureMachine } from './machine.js';
import { measureProcesses } from './processes.js';
import { measureProcess } from './process.js';
import { printSection, writeReport } from './report.js';
import { measureGrowth } from './growth.js';
import { measureNeighbours } from './neighbours.js';
import { measureNotifications } from './notifications.js';
import { measureRest } from './rest.js';
import { Stage } from './stage.js';

const FORMS = {
  quick: {
    machine: { seconds: 1 },
    rest: { rounds: 2, seconds: 1 },
    processes: { rounds: 1, seconds: 1 },
    notifications: { rounds: 2, backlog: 5_000, seconds: 2 },
    growth: { rounds: 2, calls: 150, large: { eligibilities: 50_000, notifications: 30_000, queued: 6_000 } },
    neighbours: { rounds: 1, seconds: 2, queued: 20_000, rows: 20_000 },
    process: { starts: 2, seconds: 2 },
  },
  full: {
    machine: { seconds: 10 },
    rest: { rounds: 5, seconds: 6 },
    processes: { rounds: 5, seconds: 6 },
    notifications: { rounds: 7, backlog: 20_000, seconds: 10 },
    growth: { rounds: 7, calls: 1_000, large: { eligibilities: 2_000_000, notifications: 1_000_000, queued: 200_000 } },
    neighbours: { rounds: 5, seconds: 10, queued: 1_000_000, rows: 100_000 },
    process: { starts: 5, seconds: 10 },
  },
} as const;

export type FormName = keyof typeof FORMS;

async function main(args: string[]): Promise<void> {
  const form: FormName = args.includes('--full') ? 'full' : 'quick';
  const only = args
    .find((argument) => argument.startsWith('--only='))
    ?.slice('--only='.length)
    .split(',');
  const sizes = FORMS[form];
  const started = new Date();
  const stage = await Stage.open();
  try {
    const measurements: Record<string, () => Section | Promise<Section>> = {
      machine: () => measureMachine(sizes.machine),
      rest: () => measureRest(stage, sizes.rest),
      processes: () => measureProcesses(stage, sizes.processes),
      notifications: () => measureNotifications(stage, sizes.notifications),
      growth: () => measureGrowth(stage, sizes.growth),
      neighbours: () => measureNeighbours(stage, sizes.neighbours),
      process: () => measureProcess(stage, sizes.process),
    };
    const settings = await stage.settings();
    const sections: Section[] = [];
    for (const [name, measure] of Object.entries(measurements)) {
      if (only && !only.includes(name)) continue;
      const section = await measure();
      await stage.clear();
      printSection(section);
      sections.push(section);
    }
    const cores = `${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown processor'}`;
    writeReport({ form, partial: only !== undefined, started, cores, node: process.version, settings, sections });
  } finally {
    await stage.close();
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
