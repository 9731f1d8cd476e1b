/**
 * The delay, in milliseconds, of a response that refuses a request because there were too many requests. It slows down
 * clients that retry in a loop.
 */
const LATE_MS = 500;
/**
 * The maximum number of refusals that are delayed at the same time. Delaying more would only accumulate connections.
 */
const MOST_WAITING = 256;

let waiting = 0;

/**
 * Sends a response after a delay. It is used for the refusals of clients with too many requests. Otherwise, a few
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
