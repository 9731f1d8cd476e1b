/** The bounds for a partner's `Retry-After`, in seconds. */
const LEAST_S = 1;
const MOST_S = 3600;

/**
 * Reads the `Retry-After` header (RFC 9110 §10.2.3), which is a number of seconds or a date. Returns the seconds to
 * wait, limited to the range from {@link LEAST_S} to {@link MOST_S}; null for any other value.
 * @param now milliseconds since 1970
 */
export function retryAfterSeconds(value: string | null, now: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  const seconds = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : (dateOf(text) - now) / 1000;
  return Number.isNaN(seconds) ? null : Math.min(MOST_S, Math.max(LEAST_S, seconds));
}

/**
 * Parses a date in an HTTP format, which begins with the day of the week. `Date.parse` alone would accept many other
 * texts.
 */
function dateOf(text: string): number {
  return /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(text) ? Date.parse(text) : NaN;
}

/** The pause, in seconds, of a busy partner whose response has no `Retry-After`. */
export const BUSY_S = LEAST_S;
