/**
 * Calls `late` after this many milliseconds, unless the timer is cleared before. Sockets are read first: Node checks
 * timers before sockets, so a busy process would time out although the answer has arrived. `late` may still be called
 * right after that read cleared the timer.
 */
export function timeLimit(ms: number, late: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(late), ms);
}
