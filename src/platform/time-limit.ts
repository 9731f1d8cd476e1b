/**
 * Calls `late` after `ms` milliseconds, unless the timer is cleared first. When the timer fires, the call is deferred
 * until Node has read the sockets. Node checks timers before sockets, so a busy process would otherwise report a
 * timeout although the data has arrived. Because of this delay, `late` may still be called after the code that read the
 * data has cleared the timer.
 */
export function timeLimit(ms: number, late: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(late), ms);
}
