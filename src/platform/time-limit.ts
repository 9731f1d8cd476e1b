/**
 * Calls `late` after `ms` milliseconds, unless the timer is cleared before. The call is deferred until the sockets were
 * read. Node checks timers before sockets, so a busy process would otherwise time out although the data has arrived.
 * `late` may still be called just after the timer was cleared by the code that read this data.
 */
export function timeLimit(ms: number, late: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(late), ms);
}
