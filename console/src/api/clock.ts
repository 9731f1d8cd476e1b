/**
 * The largest difference, in milliseconds, at which the clocks of the browser and the service count as equal. The
 * service states its time in whole seconds.
 */
const EQUAL_MS = 2000;

let aheadMs = 0;

/**
 * Returns the current time of the service. Ages are computed from this time, so that no past time appears as future
 * when the user's clock is wrong.
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
