/** The delay of a refusal for too many requests. It slows down clients that retry in a loop. */
const LATE_MS = 500;
/** The maximum number of delayed refusals. More of them would only pile up connections. */
const MOST_WAITING = 256;

let waiting = 0;

/**
 * Sends a refusal for too many requests after a delay. Otherwise, a few connections that retry in a loop would keep the
 * process busy with refusals.
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
