/**
 * Calls `late` after so many milliseconds, unless the timer is cleared before; what has come by then is read first. Node
 * looks at the clock before it looks at the sockets: to a process that was busy, an answer long there would be late.
 * `late` may still be called right after the timer was cleared by what was read.
 */
export function timeLimit(ms: number, late: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(late), ms);
}
