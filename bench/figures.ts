export function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Returns the median of the ratios in the individual rounds. A disturbance during a whole round slows both compared
 * programs, and therefore hardly changes the ratio.
 */
export function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((value, index) => value / theirs[index]));
}

/** A figure of the report, with the unit of its `value` and a goal for it. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: 'ratio' | '/s' | 'µs' | 'ms' | 's' | 'MiB';
  readonly goal: { readonly atLeast: number } | { readonly atMost: number } | null;
  /** The measurements of the individual rounds. `value` is the median of these measurements. */
  readonly rounds?: readonly number[];
}

/** Builds a figure without a goal. Its value is the median of the rounds. */
export function ofRounds(name: string, unit: Figure['unit'], rounds: readonly number[]): Figure {
  return { name, value: median(rounds), unit, goal: null, rounds };
}

export interface Section {
  readonly title: string;
  /** Describes in one or two sentences how the section measures its figures. */
  readonly method: string;
  /** The table of measurements. The first row is the header. */
  readonly table: readonly (readonly string[])[];
  readonly figures: readonly Figure[];
  /**
   * The section's rows in docs/performance.md. Each row has a question, the measurement, and the figures that answer
   * the question.
   */
  readonly asked: readonly Asked[];
}

interface Asked {
  readonly question: string;
  readonly measured: string;
  /** Maps names of {@link Section.figures} to the labels of their values in the table. */
  readonly judged: Readonly<Record<string, string>>;
}

export function isMet({ value, goal }: Figure): boolean | null {
  if (goal === null) return null;
  return 'atLeast' in goal ? value >= goal.atLeast : value <= goal.atMost;
}

/** Formats a number with three significant digits, without an exponent. */
export function round(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value >= 100) return String(Math.round(value));
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
