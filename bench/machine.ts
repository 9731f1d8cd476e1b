import { quantile, round, type Section } from './figures.js';

const TURNS = 300_000;

/**
 * Measures how steadily the processor works while nothing else runs. In the other sections of the report, p95 and p99
 * vary at least as much as here.
 */
export function measureMachine({ seconds }: { seconds: number }): Section {
  const milliseconds: number[] = [];
  const begun = performance.now();
  for (let ended = begun; ended - begun < seconds * 1000;) {
    const started = ended;
    work();
    ended = performance.now();
    milliseconds.push(ended - started);
  }
  const sorted = Float64Array.from(milliseconds).sort();
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(sorted, share));
  return {
    title: 'The machine',
    method:
      `The same computation again and again for ${seconds} s, while nothing else runs: how unevenly the processor itself ` +
      'works. No p95 or p99 of this run can be steadier.',
    table: [
      ['', 'p50', 'p95', 'p99'],
      ['time of the computation, to its median', '1.00', round(p95 / p50), round(p99 / p50)],
    ],
    figures: [],
    asked: [],
  };
}

function work(): number {
  let value = 0;
  for (let turn = 0; turn < TURNS; turn++) value = (value * 31 + turn) | 0;
  return value;
}
