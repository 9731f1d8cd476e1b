/**
 * Calls `late` after `ms` milliseconds, unless the timer is cleared before. The call is deferred until sockets were
 * read: Node checks timers before sockets, so that a busy process would time out although the answer has arrived.
 * `late` may still be called just after that read has cleared the timer.
 */
export function timeLimit(ms: number, late: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(late), ms);
}
