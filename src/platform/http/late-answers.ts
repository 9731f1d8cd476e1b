/** By how much a refusal for too many requests is put off: who asks in a loop goes round it no faster. */
const LATE_MS = 500;
/** More at a time are a flood of connections, which waiting would only pile up. */
const MOST_WAITING = 256;

let waiting = 0;

/**
 * Sends a refusal for too many requests, late: otherwise a few connections that ask in a loop would keep a process busy
 * with refusing them.
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
