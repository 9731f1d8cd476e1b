import { bitsOf, isRunning, PHASE, READING, type FeedState } from './feed-state.js';
import { feedLabel, generationOf, LATE, MONTH, RETENTION, type FeedStep, type FeedStepName } from './feed-step.js';

/**
 * Emits the steps of transactions. Each transaction gets its id, locks its record, writes its entry, and commits or
 * rolls back.
 */
export function writerSteps(step: FeedStep): void {
  const { transactions } = step.state;
  for (const [n, { phase }] of transactions.entries()) {
    // Transactions begin in the order of their numbers. No other order needs to be tried, because transactions differ
    // only in their records and kinds.
    if (phase === PHASE.NONE && (n === 0 || transactions[n - 1].phase !== PHASE.NONE)) begin(step, n);
    if (phase === PHASE.BEGUN && !isLocked(step, n))
      step.take(feedLabel('lock', n), (to) => void (to.transactions[n].phase = PHASE.LOCKED));
    if (phase === PHASE.LOCKED) place(step, n);
    if (phase === PHASE.PLACED) write(step, n);
    if (phase === PHASE.WRITTEN) step.take(feedLabel('commit', n), (to) => end(to, n, ++to.database.commits));
    if (isRunning(transactions[n])) step.take(feedLabel('roll back', n), (to) => end(to, n, 0), false);
  }
}

function begin(step: FeedStep, n: number): void {
  step.take(feedLabel('begin', n), (to) => {
    const xid = to.database.nextXid++;
    const place = step.is('a place is taken before the lock') ? placeOf(step, to, xid) : 0;
    Object.assign(to.transactions[n], { phase: PHASE.BEGUN, xid, since: to.database.tick, place });
  });
}

function isLocked({ state, records }: FeedStep, n: number): boolean {
  return state.transactions.some(
    ({ phase }, m) => records[m] === records[n] && phase >= PHASE.LOCKED && phase <= PHASE.WRITTEN,
  );
}

function placeOf(step: FeedStep, { database }: FeedState, xid: number): number {
  return step.is('a place is the own id alone') ? xid : Math.max(xid, database.latestEnded);
}

function place(step: FeedStep, n: number): void {
  step.take(feedLabel('place', n), (to) => {
    const { database, transactions } = to;
    const one = transactions[n];
    one.phase = PHASE.PLACED;
    one.generation = generationOf(to);
    one.at = database.tick;
    if (!step.is('a place is taken before the lock')) one.place = placeOf(step, to, one.xid);
    return database.tick < database.keptFrom ? 'a change is refused, because its month has no partition' : null;
  });
}

function write(step: FeedStep, n: number): void {
  step.take(feedLabel('write', n), ({ database, transactions }) => {
    transactions[n].phase = PHASE.WRITTEN;
    transactions[n].position = ++database.sequence;
  });
}

function end(to: FeedState, n: number, commit: number): void {
  const one = to.transactions[n];
  one.phase = commit > 0 ? PHASE.COMMITTED : PHASE.ENDED;
  one.commit = commit;
  to.database.latestEnded = Math.max(to.database.latestEnded, one.xid);
}

/** Emits the steps in which time passes or a failure occurs. The protocol must make progress without these steps. */
export function worldSteps(step: FeedStep): void {
  const { database, transactions } = step.state;
  const { configuration } = step;
  // Time does not pass while a transaction of the previous tick is running, because no transaction lasts longer than
  // the day that the feed allows.
  const isLate = transactions.some((one) => isRunning(one) && one.since < database.tick);
  if (database.tick < (configuration.ticks ?? 0) && !isLate)
    step.take(feedLabel('time passes'), (to) => void to.database.tick++, false);
  if (configuration.ticks) dropMonth(step);
  if (database.failures < (configuration.crashes ?? 0)) fail(step, 'crash');
  if (database.failures < (configuration.failovers ?? 0)) fail(step, 'promote the standby');
  if (!configuration.restores) return;
  if (database.backupXid === 0) backUp(step);
  else if (database.failures === 0)
    for (const way of ['restore the folder', 'restore by the log', 'restore the dump'] as const) restore(step, way);
}

function dropMonth(step: FeedStep): void {
  const { database, transactions } = step.state;
  const keepFrom =
    step.clock - RETENTION - (step.is('a month is dropped without the day for late transactions') ? 0 : LATE);
  const present = database.tick - (database.tick % MONTH);
  const until = step.is('retention follows the clock of the service alone') ? keepFrom : Math.min(keepFrom, present);
  const end = database.keptFrom + MONTH;
  if ((step.is('a month is dropped at its first expired entry') ? database.keptFrom + 1 : end) > until) return;
  // A running writer holds a lock on the partition of its month, so that the month cannot be dropped.
  if (transactions.some((one) => isRunning(one) && one.phase >= PHASE.PLACED && one.at < end)) return;
  step.take(feedLabel('drop a month'), (to) => void (to.database.keptFrom = end), false);
}

/** Ends every running transaction and the reader's request, as a crash of the server does. */
function interrupt({ transactions, reader }: FeedState): void {
  for (const one of transactions) if (isRunning(one)) one.phase = PHASE.ENDED;
  if (reader.phase === READING.WAITING) reader.phase = reader.given === 0 ? READING.START : READING.IDLE;
}

function continueAt({ database }: FeedState, nextXid: number): void {
  database.nextXid = nextXid;
  database.latestEnded = nextXid - 1;
  database.failures++;
}

/**
 * Simulates a crash or a promotion. Afterwards, PostgreSQL may assign an id again if the id's first transaction left no
 * trace in the log (WAL). A stored entry never has the position of such a transaction, because the log records the end
 * of a transaction before the entries that get their positions from it.
 */
function fail(step: FeedStep, name: FeedStepName): void {
  const { database, transactions } = step.state;
  const used = transactions
    .filter(({ phase }) => phase === PHASE.COMMITTED)
    .map(({ xid, place }) => Math.max(xid, place));
  for (let nextXid = Math.max(0, ...used) + 1; nextXid <= database.nextXid; nextXid++)
    step.take(
      feedLabel(name),
      (to) => {
        interrupt(to);
        continueAt(to, nextXid);
        if (name === 'promote the standby') to.database.timeline++;
      },
      false,
    );
}

function backUp(step: FeedStep): void {
  step.take(
    feedLabel('back up'),
    (to) => {
      const { database } = to;
      database.backup = bitsOf(to, ({ phase }) => phase === PHASE.COMMITTED);
      database.backupXid = database.nextXid;
      database.backupSequence = database.sequence;
      database.backupTimeline = database.timeline;
    },
    false,
  );
}

/**
 * Restores the backup in one of three ways: as a copied folder on the same timeline, as a folder with its log on a new
 * timeline, or as a dump into a new cluster. In a new cluster, transaction ids start again from the beginning.
 */
function restore(step: FeedStep, way: FeedStepName): void {
  step.take(
    feedLabel(way),
    (to) => {
      const { database } = to;
      interrupt(to);
      for (const [n, one] of to.transactions.entries())
        if (one.phase === PHASE.COMMITTED && !(database.backup & (1 << n))) one.phase = PHASE.ENDED;
      const isDump = way === 'restore the dump';
      continueAt(to, isDump ? 1 : database.backupXid);
      database.sequence = database.backupSequence;
      database.timeline = isDump ? 0 : database.backupTimeline + (way === 'restore by the log' ? 1 : 0);
      if (isDump && !step.is('a restored dump begins no epoch')) database.epoch++;
    },
    false,
  );
}
