import { bitsOf, isRunning, PHASE, READING, type FeedState } from './feed-state.js';
import { RETENTION, type FeedStep } from './feed-step.js';

/**
 * The promises of the change feed. Each promise describes behaviour that a reader of the feed can observe, and no
 * internal condition of the protocol.
 */

/** Returns whether the reader must find the entry in the current page or in a later page. */
function isOwed(step: FeedStep, { transactions, reader }: FeedState, n: number): boolean {
  return transactions[n].phase === PHASE.COMMITTED && step.isAsked(n) && !(reader.excused & (1 << n));
}

/** Records that the reader has read the page. @returns the promise that the page breaks; null if it breaks none */
export function faultOfPage(step: FeedStep, to: FeedState, rows: readonly number[], isFull: boolean): string | null {
  const { reader, transactions, database } = to;
  // Without a cursor, the first page begins with the oldest entry that is kept.
  const oldest = Math.max(database.tick - RETENTION, database.keptFrom);
  if (reader.given === 0) reader.excused = bitsOf(to, ({ phase, at }) => phase === PHASE.COMMITTED && at < oldest);
  if (reader.phase === READING.IDLE && reader.given !== 0 && reader.given - 1 < step.clock - RETENTION)
    return 'a cursor older than the retention is accepted';
  for (const n of rows) {
    if (reader.seen & (1 << n)) return 'a change is listed twice';
    if (reader.before & (1 << n)) return 'after=now lists a change that was committed before';
    const isOvertaking = transactions.some(
      ({ commit }, m) =>
        isOwed(step, to, m) &&
        !(reader.seen & (1 << m)) &&
        step.records[m] === step.records[n] &&
        commit < transactions[n].commit,
    );
    if (isOvertaking) return 'a change is listed before an earlier one of its record';
    reader.seen |= 1 << n;
  }
  if (isFull || transactions.some(isRunning)) return null;
  return isComplete(step, to) ? null : 'a change is missing';
}

/**
 * Returns the promise that the service breaks when it refuses the cursor with `cursor_expired`; null if it breaks none.
 */
export function faultOfRefusal(step: FeedStep): string | null {
  const { reader, transactions, database } = step.state;
  const expired = database.tick - RETENTION;
  if (step.configuration.ahead || reader.given - 1 < expired || reader.told - 1 < expired) return null;
  const known = reader.seen | (reader.entry > 0 ? 1 << (reader.entry - 1) : 0);
  const hasSeenLost = transactions.some(({ phase }, n) => phase === PHASE.ENDED && known & (1 << n));
  return hasSeenLost ? null : 'a reader that keeps up is refused';
}

export function isComplete(step: FeedStep, state: FeedState): boolean {
  return state.transactions.every((_one, n) => !isOwed(step, state, n) || (state.reader.seen & (1 << n)) !== 0);
}
