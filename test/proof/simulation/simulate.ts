/**
 * Runs the real delivery loops of two processes with a simulated partner, network and clock. The database refuses some
 * statements and loses some responses. See docs/delivery.md.
 *
 * usage: npm run simulate [-- --seeds 500] [--from 1] [--fault NAME | --faults], or with --seed N
 */
import 'reflect-metadata';
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { plant, PLANTED } from './faults.js';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '500' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    fault: { type: 'string' },
    faults: { type: 'boolean', default: false },
  },
});

/** Runs the simulation for each of these seeds. Returns whether every delivery guarantee held. */
async function simulate(from: number, to: number): Promise<boolean> {
  // A planted fault changes the service's code while the code is loaded. The code is therefore imported here, after the
  // fault was chosen.
  const { SimulatedTime } = await import('./simulated-time.js');
  const { FairSemaphore } = await import('./turns.js');
  const { SimulatedService } = await import('./service.js');
  const { Simulation } = await import('./simulation.js');
  const time = new SimulatedTime();
  const turns = new FairSemaphore(time);
  const around = { databaseFaults: 0, running: false } as ConstructorParameters<typeof Simulation>[4];
  const service = await SimulatedService.start(time, turns, around);
  let attempts = 0;
  try {
    for (let seed = from; seed <= to; seed++) {
      const simulation = new Simulation(seed, service, time, turns, around);
      const broken = await simulation.run();
      attempts += simulation.attempts;
      if (broken === null) continue;
      process.stdout.write(`seed ${seed}: ${broken}\n  ${simulation.log.join('\n  ')}\n`);
      process.stdout.write(`again: npm run simulate -- --seed ${seed}\n`);
      return false;
    }
  } finally {
    await service.end();
  }
  process.stdout.write(`${to - from + 1} seeds, ${attempts} attempts: every promise kept\n`);
  return true;
}

/**
 * Returns whether the simulation finds every planted fault. For each fault, prints a line with the seed that shows it.
 */
function findAll(): boolean {
  let all = true;
  for (const { name } of PLANTED) {
    const arguments_ = [__filename, '--fault', name, '--seeds', '2000'];
    const { status, stdout, stderr } = spawnSync(process.execPath, arguments_, {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    const found = status === 1 && stdout.startsWith('seed ');
    all &&= found;
    process.stdout.write(
      `${name}: ${found ? stdout.split('\n', 1)[0] : `NOT FOUND ${(stdout + stderr).slice(-300)}`}\n`,
    );
  }
  return all;
}

async function main(): Promise<boolean> {
  if (values.faults) return findAll();
  if (values.fault !== undefined) plant(values.fault);
  if (values.seed !== undefined) return simulate(Number(values.seed), Number(values.seed));
  const from = Number(values.from);
  return simulate(from, from + Number(values.seeds) - 1);
}

main().then(
  (isWell) => process.exit(isWell ? 0 : 1),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(2);
  },
);
