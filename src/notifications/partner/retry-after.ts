/** A partner that says "later" is taken to mean a second at least, and an hour at most. */
const LEAST_S = 1;
const MOST_S = 3600;

/**
 * Reads `Retry-After` (RFC 9110 §10.2.3), seconds or a date, within those bounds; null when it says neither.
 * @param now milliseconds since 1970
 */
export function retryAfterSeconds(value: string | null, now: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  const seconds = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : (dateOf(text) - now) / 1000;
  return Number.isNaN(seconds) ? null : Math.min(MOST_S, Math.max(LEAST_S, seconds));
}

/** A date of HTTP begins with the day of the week; `Date.parse` takes much else. */
function dateOf(text: string): number {
  return /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(text) ? Date.parse(text) : NaN;
}

/** How long a partner is left alone that says it is busy without saying for how long. */
export const BUSY_S = LEAST_S;
