/** Calls `late` after so many milliseconds, unless the timer is cleared before. */
export function timeLimit(ms: number, late: () => void): NodeJS.Timeout {
  return setTimeout(late, ms);
}
