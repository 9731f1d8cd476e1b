/**
 * The delay, in milliseconds, of a response that refuses a request because there were too many requests. The delay
 * slows down clients that retry in a loop.
 */
const LATE_MS = 500;
/**
 * The maximum number of refusals that are delayed at the same time. Delaying more refusals would only accumulate open
 * connections.
 */
const MOST_WAITING = 256;

let waiting = 0;

/**
 * Sends a response after a delay. Clients that send too many requests are refused in this way. Without the delay, a few
 * connections that retry in a loop would keep the process busy with refusals.
 */
export function answerLate(send: () => void): void {
  if (waiting >= MOST_WAITING) {
    send();
    return;
  }
  waiting++;
  setTimeout(() => {
    waiting--;
    send();
  }, LATE_MS);
}
