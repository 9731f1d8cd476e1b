/**
 * Runs the "growth" section of the benchmark with much more data than a run of all sections can use.
 *
 * usage: npm run build && node dist/bench/much-data.js [--eligibilities 10000000] [--notifications 20000000] [--queued
 * 1000000] [--rounds 5] [--calls 400] [--set shared_buffers=8GB --set max_wal_size=16GB …] [--warm] (takes half an hour
 * and 60 GB of disk; 14 minutes with half as many rows)
 */
import { parseArgs } from 'node:util';
import { runCommand } from './command.js';
import { isMet } from './figures.js';
import { measureGrowth } from './growth.js';
import { printSection } from './report.js';
import { Stage } from './stage.js';

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      eligibilities: { type: 'string', default: '10000000' },
      notifications: { type: 'string', default: '20000000' },
      queued: { type: 'string', default: '1000000' },
      rounds: { type: 'string', default: '5' },
      calls: { type: 'string', default: '400' },
      /** Settings of PostgreSQL. */
      set: { type: 'string', multiple: true, default: [] },
      /** Whether PostgreSQL reads all data into its memory before the measurement. */
      warm: { type: 'boolean', default: false },
    },
  });
  const large = {
    eligibilities: Number(values.eligibilities),
    notifications: Number(values.notifications),
    queued: Number(values.queued),
  };
  const stage = await Stage.open(Object.fromEntries(values.set.map((setting) => setting.split('=', 2))));
  try {
    const section = await measureGrowth(stage, {
      rounds: Number(values.rounds),
      calls: Number(values.calls),
      large,
      warm: values.warm,
    });
    printSection(section);
    return section.figures.every((figure) => isMet(figure) !== false);
  } finally {
    await stage.close();
  }
}

runCommand(main);
