import type { ExamIn } from '../notifications.queries.js';

/** For each bucket, the range of hours from now in which its exams start. The end is excluded; null means no limit. */
const HOURS: Record<ExamIn, readonly [from: number | null, to: number | null]> = {
  past: [null, 0],
  '2h': [0, 2],
  '24h': [2, 24],
  '7d': [24, 168],
  later: [168, null],
};

/**
 * Returns the SQL condition that an exam starts in the time bucket `examIn`. An exam without a known start belongs to
 * `later`.
 * @param start the SQL expression for the start
 * @param now the SQL parameter with the current time
 */
export function startsIn(examIn: ExamIn, start: string, now: string): string {
  const [from, to] = HOURS[examIn];
  const limits = [
    from === null ? null : `${start} >= ${now}::timestamptz + interval '${from} hours'`,
    to === null ? null : `${start} < ${now}::timestamptz + interval '${to} hours'`,
  ];
  const within = limits.filter((limit) => limit !== null).join(' AND ');
  return to === null ? `(${start} IS NULL OR ${within})` : `(${within})`;
}
