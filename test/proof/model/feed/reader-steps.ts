import { bitsOf, PHASE, READING, REQUEST, type FeedState, type Reader } from './feed-state.js';
import { faultOfPage, faultOfRefusal } from './feed-promises.js';
import {
  feedLabel,
  generationOf,
  LATE,
  RETENTION,
  type FeedStep,
  type FeedStepName,
  type Snapshot,
} from './feed-step.js';

/** A position that is higher than the position of every entry with the same transaction id. */
const BEHIND = 255;

/**
 * Emits the steps of a reader that follows the pages of the feed. A request repeats its check until every transaction
 * that was running at the request's arrival has ended.
 */
export function readerSteps(step: FeedStep): void {
  const { reader } = step.state;
  switch (reader.phase) {
    case READING.START:
      look(step, 'ask from the beginning', arrival(step, false));
      look(step, 'ask from now', arrival(step, true));
      break;
    case READING.IDLE:
      look(step, 'ask', arrival(step, false));
      break;
    case READING.WAITING:
      look(step, 'wait', {});
      break;
    default:
  }
}

/** Returns the values that a request remembers from its first check. */
function arrival(step: FeedStep, asksNow: boolean): Partial<Reader> {
  const { generation, xmax } = step.snapshot;
  const { tick, keptFrom } = step.state.database;
  return {
    asksNow: asksNow ? 1 : 0,
    askedGeneration: generation,
    askedXmax: xmax,
    askedTick: tick,
    askedKeptFrom: keptFrom,
    askedCommitted: bitsOf(step.state, (one) => step.isStored(one)),
  };
}

/** Checks the transactions once. Afterwards, the request waits, is answered, or is refused. */
function look(step: FeedStep, name: FeedStepName, arrived: Partial<Reader>): void {
  const request: Reader = { ...step.state.reader, ...arrived };
  const { snapshot } = step;
  if (isRefused(step, request)) {
    const fault = faultOfRefusal(step);
    step.take(feedLabel('refuse'), ({ reader }) => {
      reader.phase = READING.REFUSED;
      return fault;
    });
    return;
  }
  const hasSettled = snapshot.generation !== request.askedGeneration || snapshot.xmin >= request.askedXmax;
  const rows = request.asksNow ? lastEntry(step, request, snapshot) : pageOf(step, request, snapshot);
  const isFull = !request.asksNow && rows.length === step.configuration.limit;
  if (!isFull && !hasSettled && !(request.asksNow && step.is('now does not wait')))
    step.take(feedLabel(name), ({ reader }) => {
      Object.assign(reader, request, { phase: READING.WAITING });
    });
  // After its maximum waiting time, a request is answered even if some transactions that it waits for are still
  // running.
  step.take(feedLabel(request.asksNow ? 'answer now' : 'answer'), (to) => {
    const fault = request.asksNow
      ? answerNow(step, to, request, hasSettled || step.is('now does not wait'))
      : faultOfPage(step, to, rows, isFull);
    moveCursor(step, to.reader, request, rows, isFull, snapshot);
    return fault;
  });
}

function isRefused(step: FeedStep, request: Reader): boolean {
  if (request.given === 0) return false;
  const { database, transactions } = step.state;
  const isNew = step.state.reader.phase === READING.IDLE;
  if (isNew && request.given - 1 < step.clock - RETENTION && !step.is('the age of a cursor is not checked'))
    return true;
  const keptFrom = step.is('a dropped month is judged by the first look') ? request.askedKeptFrom : database.keptFrom;
  const readFrom = Math.max(
    0,
    request.told - 1 - (step.is('a cursor needs only the months since its time') ? 0 : LATE),
  );
  if (readFrom < keptFrom && !step.is('a dropped month is not noticed')) return true;
  if (request.entry === 0) return false;
  const isDropped = request.at < keptFrom && !step.is('the cursor of a dropped entry is unknown');
  if (isDropped || step.is('an unknown cursor is accepted')) return false;
  return !transactions.some((one, n) => {
    if (!step.isStored(one)) return false;
    if (step.is('a cursor is sought among the kinds asked') && !step.isAsked(n)) return false;
    return step.is('a cursor is known by its numbers alone')
      ? one.generation === request.generation && one.place === request.place && one.position === request.position
      : n === request.entry - 1;
  });
}

function isSettled(step: FeedStep, n: number, { generation, xmin, xmax }: Snapshot): boolean {
  if (step.is('every committed entry is listed')) return true;
  const one = step.state.transactions[n];
  const bound = step.is('a page ends at the newest id') ? xmax : xmin;
  return one.generation < generation || (one.generation === generation && one.place < bound);
}

/** Returns the stored entries in the order of the feed. */
function stored(step: FeedStep): number[] {
  const { transactions } = step.state;
  return [...transactions.keys()]
    .filter((n) => step.isStored(transactions[n]))
    .sort((a, b) => step.compare(transactions[a], transactions[b]) || a - b);
}

function pageOf(step: FeedStep, request: Reader, snapshot: Snapshot): number[] {
  const { database, transactions } = step.state;
  const expired = database.tick - RETENTION;
  let from = request.told - 1 - LATE;
  if (step.is('no day is allowed for a late transaction')) from = request.told - 1;
  if (request.given === 0 || step.is('expired entries are left out of every page')) from = expired;
  const rows = stored(step).filter(
    (n) =>
      transactions[n].at >= from &&
      (request.given === 0 || step.compare(transactions[n], request) > 0) &&
      isSettled(step, n, snapshot),
  );
  const { limit } = step.configuration;
  return (step.is('the limit counts every kind') ? rows.slice(0, limit) : rows)
    .filter((n) => step.isAsked(n))
    .slice(0, limit);
}

/** Returns the last entry whose transaction id already existed when the request arrived. */
function lastEntry(step: FeedStep, request: Reader, snapshot: Snapshot): number[] {
  const { transactions } = step.state;
  return stored(step)
    .filter((n) => {
      const { generation, place } = transactions[n];
      const isEarlier =
        generation < request.askedGeneration || (generation === request.askedGeneration && place < request.askedXmax);
      return isEarlier && (isSettled(step, n, snapshot) || step.is('now begins after an entry that is not settled'));
    })
    .slice(-1);
}

function answerNow(step: FeedStep, { reader }: FeedState, request: Reader, isExact: boolean): null {
  reader.excused = bitsOf(step.state, ({ phase }) => phase === PHASE.COMMITTED);
  reader.before = isExact ? request.askedCommitted : 0;
  return null;
}

function moveCursor(
  step: FeedStep,
  reader: Reader,
  request: Reader,
  rows: readonly number[],
  isFull: boolean,
  snapshot: Snapshot,
): void {
  const { seen, excused, before } = reader;
  Object.assign(reader, request, { phase: READING.IDLE, seen, excused, before, given: step.state.database.tick + 1 });
  const { transactions } = step.state;
  let last = rows.at(-1);
  if (!isFull && !request.asksNow && step.is('the cursor passes entries that are not settled'))
    last = stored(step).at(-1) ?? last;
  if (last !== undefined) {
    const { generation, place, position, at } = transactions[last];
    Object.assign(reader, { generation, place, position, at, entry: last + 1 });
  } else if (step.is('the cursor of an empty page is the horizon')) {
    const place = snapshot.xmin - 1;
    Object.assign(reader, { generation: generationOf(step.state), place, position: BEHIND, entry: 0 });
  }
  const isRead = isFull && !step.is('a full page counts as read up to now');
  reader.told = (isRead ? transactions[last!].at : request.askedTick) + 1;
  // After the response, the reader forgets the values of the request.
  for (const name of REQUEST) reader[name] = 0;
}
