/** The difference between the two clocks below which they count as equal: the service tells its time in whole seconds. */
const EQUAL_MS = 2000;

let aheadMs = 0;

/**
 * Returns the current time of the service. Ages are computed with it, so that a wrong clock of the browser's machine
 * shows nothing as future.
 */
export function serviceNow(): number {
  return Date.now() + aheadMs;
}

/**
 * Notes the service's time in a response.
 * @param sentAt the browser's time at which the request was sent
 */
export function noteServiceTime({ headers }: Response, sentAt: number): void {
  const told = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(told)) return;
  const ahead = told - (sentAt + Date.now()) / 2;
  aheadMs = Math.abs(ahead) < EQUAL_MS ? 0 : ahead;
}
