import { quantile } from '../../../bench/figures.js';
import { wrongOf, type WorkVerdict } from '../harms/background-work.js';
import type { Outcome } from './round.js';

const seconds = (ms: number | null) => (ms === null ? '' : (ms / 1000).toFixed(1));
/**
 * Returns the number of faults of each kind that a round has found: lost, invented, disorder, change feed, background
 * work.
 */
export const faultsOf = ({ lost, invented, disorder, feedFaults, work }: Outcome): number[] => [
  lost,
  invented,
  disorder,
  feedFaults,
  wrongOf(work),
];

/** Formats the result of a round as a single line. */
export function lineOf(outcome: Outcome): string {
  const { kind, promotedMs, answeredMs, refusedMs, toldMs, callersPauseMs, partnerPauseMs, changes } = outcome;
  const faults = faultsOf(outcome);
  const promotion =
    promotedMs === null
      ? ''
      : `; promoted after ${seconds(promotedMs)} s, then answered after ${seconds(answeredMs)} s, last refused ` +
        `${seconds(refusedMs) || '-'} s, told ${seconds(toldMs)} s`;
  const detail = faults.some((count) => count > 0) ? ` ${outcome.detail}` : '';
  return (
    `${kind}: ${faults.join(', ')} of ${changes} changes${promotion}; longest pause for callers ` +
    `${seconds(callersPauseMs)} s, for the partner ${seconds(partnerPauseMs)} s${detail}`
  );
}

/**
 * Formats a table with one row for each kind of failure: the number of rounds, the faults, and the median and longest
 * times in seconds.
 */
export function tableOf(outcomes: readonly Outcome[]): string {
  const head = [
    'harmed',
    'rounds',
    'lost',
    'invented',
    'disorder',
    'feed',
    'work',
    'promotion after',
    'answered after promotion',
    'told after promotion',
    'pause for callers',
    'pause for the partner',
  ];
  const kinds = [...new Set(outcomes.map(({ kind }) => kind))];
  const rows = kinds.map((kind) => {
    const rounds = outcomes.filter((outcome) => outcome.kind === kind);
    const times = (read: (outcome: Outcome) => number | null) => {
      const known = rounds.map(read).filter((ms) => ms !== null);
      if (known.length === 0) return '';
      const sorted = Float64Array.from(known).sort();
      return `${seconds(quantile(sorted, 0.5))} (${seconds(sorted.at(-1)!)})`;
    };
    const faults = rounds.map(faultsOf);
    return [
      kind,
      String(rounds.length),
      ...[0, 1, 2, 3, 4].map((fault) => String(faults.reduce((total, counts) => total + counts[fault], 0))),
      times(({ promotedMs }) => promotedMs),
      times(({ answeredMs }) => answeredMs),
      times(({ toldMs }) => toldMs),
      times(({ callersPauseMs }) => callersPauseMs),
      times(({ partnerPauseMs }) => partnerPauseMs),
    ];
  });
  const changes = outcomes.reduce((total, one) => total + one.changes, 0);
  const sum = (count: (work: WorkVerdict) => number) => outcomes.reduce((total, { work }) => total + count(work), 0);
  const work = [
    `${sum(({ imports }) => imports)} imports, ${sum(({ erasures }) => erasures)} erasures`,
    `${sum(({ jobs }) => jobs)} bulk jobs, ${sum(({ results }) => results)} results`,
  ];
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [
    `${outcomes.length} rounds, ${changes} changes, ${work.join(', ')}; seconds: median (longest)`,
    '',
    ...lines,
  ].join('\n');
}
