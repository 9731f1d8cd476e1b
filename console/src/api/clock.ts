/**
 * The difference, in milliseconds, below which the clocks of the browser and the service are considered equal. Smaller
 * differences cannot be measured reliably, because the service states its time in whole seconds.
 */
const EQUAL_MS = 2000;

let aheadMs = 0;

/**
 * Returns the current time by the service's clock. The console computes ages from this time. Otherwise, a past time
 * would appear to be in the future when the user's clock is slow.
 */
export function serviceNow(): number {
  return Date.now() + aheadMs;
}

/**
 * Stores the service's time from a response.
 * @param sentAt the time, by the browser's clock, at which the request was sent
 */
export function noteServiceTime({ headers }: Response, sentAt: number): void {
  const told = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(told)) return;
  const ahead = told - (sentAt + Date.now()) / 2;
  aheadMs = Math.abs(ahead) < EQUAL_MS ? 0 : ahead;
}
