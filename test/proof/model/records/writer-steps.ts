import { faultOfCommit } from './records-promises.js';
import { isRunning, isStored, PHASE, ROW, type RecordsState, type Transaction } from './records-state.js';
import { recordsLabel, type RecordsStep } from './records-step.js';

/**
 * Emits the steps of transactions that change a record. Each transaction locks the record, writes its changes, and
 * commits or rolls back.
 */
export function writerSteps(step: RecordsStep): void {
  for (const [n, transaction] of step.state.transactions.entries()) {
    const { phase, hasCleared } = transaction;
    const { isErasure } = step.scripts[n];
    if (phase === PHASE.NONE && beginsEarly(step)) begin(step, n);
    else if ((phase === PHASE.NONE || phase === PHASE.BEGUN) && !isRecordLocked(step, n)) lock(step, n);
    if (phase === PHASE.LOCKED && isErasure) erasureSteps(step, n);
    if (phase === PHASE.LOCKED && (!isErasure || (hasCleared && isRewritten(step, n)))) read(step, n);
    if (phase === PHASE.READ && !isCounterLocked(step, n)) write(step, n);
    if (phase === PHASE.WRITTEN) {
      step.take(recordsLabel('commit', n), (to) => commit(step, to, n, PHASE.COMMITTED));
      if (step.is('an event is only published by its own process'))
        step.take(recordsLabel('lose', n), (to) => commit(step, to, n, PHASE.LOST), false);
    }
    if (isRunning(transaction)) step.take(recordsLabel('roll back', n), (to) => rollBack(step, to, n), false);
  }
}

function beginsEarly(step: RecordsStep): boolean {
  return (
    step.is('the listeners are read before the lock') ||
    step.is('the number is read before the lock') ||
    step.is('the number is reserved before the lock')
  );
}

function begin(step: RecordsStep, n: number): void {
  step.take(recordsLabel('begin', n), (to) => {
    const one = to.transactions[n];
    const record = to.records[step.scripts[n].record];
    Object.assign(one, { phase: PHASE.BEGUN, begun: step.versionsOf(to, 'selected'), base: record.sequence });
    if (step.is('the listeners are read before the lock')) one.seen = step.versionsOf(to, 'listed');
    if (step.is('the number is reserved before the lock')) record.sequence += step.scripts[n].changes.length;
  });
}

function isRecordLocked(step: RecordsStep, n: number): boolean {
  if (step.is('the record is not locked')) return false;
  return step.state.transactions.some(
    ({ phase }, m) =>
      step.scripts[m].record === step.scripts[n].record && phase >= PHASE.LOCKED && phase <= PHASE.WRITTEN,
  );
}

function lock(step: RecordsStep, n: number): void {
  step.take(recordsLabel('lock', n), (to) => {
    const one = to.transactions[n];
    if (one.phase === PHASE.NONE) one.begun = step.versionsOf(to, 'selected');
    one.phase = PHASE.LOCKED;
  });
}

/**
 * Returns whether a transaction locks the record's row in `event_streams`. A transaction that has assigned numbers to
 * changes of the record locks this row until the transaction ends.
 */
function isCounterLocked(step: RecordsStep, n: number): boolean {
  return step.state.transactions.some(
    ({ phase, numbers }, m) =>
      phase === PHASE.WRITTEN && numbers > 0 && step.scripts[m].record === step.scripts[n].record,
  );
}

/**
 * Takes the snapshot of the statement that writes the changes. If a subscription selects a change at this moment, it
 * must get the change's event.
 */
function read(step: RecordsStep, n: number): void {
  step.take(recordsLabel('read', n), (to) => {
    const one = to.transactions[n];
    const selected = step.versionsOf(to, 'selected');
    one.phase = PHASE.READ;
    if (!step.is('the listeners are read before the lock')) one.seen = step.versionsOf(to, 'listed');
    if (step.scripts[n].isOfEarlierRelease) return;
    one.isHeard = Number(step.isAnyListed(selected));
    for (const change of step.scripts[n].changes) to.changes[change].owed = step.selecting(selected, change);
  });
}

function write(step: RecordsStep, n: number): void {
  step.take(recordsLabel('write', n), (to) => {
    const { record, changes, isOfEarlierRelease, isErasure } = step.scripts[n];
    const one = to.transactions[n];
    one.phase = PHASE.WRITTEN;
    if (isOfEarlierRelease) return;
    const isHeard = step.isAnyListed(one.seen) || step.is('an event without a listener is written');
    const told = changes.filter(
      (change) =>
        isHeard &&
        (step.selecting(one.seen, change) !== 0 ||
          step.is('an event without a listener is written') ||
          step.is('every change that the account hears is written')),
    );
    const numbered = step.is('only written events are numbered') ? told : isHeard ? changes : [];
    if (!beginsEarly(step) || step.is('the listeners are read before the lock')) one.base = to.records[record].sequence;
    one.numbers = numbered.length;
    if (step.is('the changes of one statement have one number')) one.numbers = Math.min(one.numbers, 1);
    for (const change of told) {
      const event = to.changes[change];
      event.row = step.is('the event is written in a transaction of its own') ? ROW.UNSETTLED : ROW.WRITTEN;
      event.number = one.base + Math.min(numbered.indexOf(change) + 1, one.numbers);
      event.isNamed = Number(!isErasure && !to.records[record].isErased);
    }
  });
}

function commit(step: RecordsStep, to: RecordsState, n: number, phase: number): string | null {
  const one = to.transactions[n];
  const { record, changes, isErasure } = step.scripts[n];
  if (!step.is('the number is reserved before the lock') && one.numbers > 0)
    to.records[record].sequence = one.base + one.numbers;
  for (const change of changes) if (to.changes[change].row === ROW.WRITTEN) to.changes[change].row = ROW.UNSETTLED;
  if (isErasure) {
    for (const [change, event] of to.changes.entries()) {
      if (one.rewritten & (1 << change)) event.isNamed = 0;
      if (step.recordOf(change) === record) event.named &= ~event.cleared;
    }
    to.records[record].isErased = 1;
  }
  const fault = faultOfCommit(step, to, n);
  if (one.isHeard) to.records[record].heard += changes.length;
  forget(step, to, n, phase);
  return fault;
}

function rollBack(step: RecordsStep, to: RecordsState, n: number): string | null {
  const { record, changes } = step.scripts[n];
  const one = to.transactions[n];
  if (step.is('a rollback keeps the number') && one.numbers > 0) to.records[record].sequence = one.base + one.numbers;
  for (const change of changes) {
    const event = to.changes[change];
    if (event.row === ROW.WRITTEN) Object.assign(event, { row: ROW.NONE, number: 0, isNamed: 0 });
    event.owed = 0;
  }
  forget(step, to, n, PHASE.ENDED);
  return changes.some((change) => isStored(to.changes[change])) ? 'a change that was rolled back has an event' : null;
}

/**
 * Ends the transaction, and resets the values that no later step reads, so that the model has fewer distinct states.
 */
function forget(step: RecordsStep, to: RecordsState, n: number, phase: number): void {
  const one: Transaction = to.transactions[n];
  for (const name of Object.keys(one) as (keyof Transaction)[]) one[name] = 0;
  one.phase = phase;
  if (step.scripts[n].isErasure) for (const event of to.changes) event.cleared = 0;
}

/**
 * Returns the events of the record that an erasure rewrites. The record gets no further event meanwhile, because the
 * erasure has locked the record.
 */
function eventsOf(step: RecordsStep, n: number): number[] {
  return [...step.state.changes.keys()].filter(
    (change) => step.recordOf(change) === step.scripts[n].record && isStored(step.state.changes[change]),
  );
}

function isRewritten(step: RecordsStep, n: number): boolean {
  const { rewritten } = step.state.transactions[n];
  return step.is('an erasure leaves the events') || eventsOf(step, n).every((change) => rewritten & (1 << change));
}

/**
 * Emits the steps of an erasure. The erasure first waits until no translation locks the events. Then it rewrites the
 * events, and after them the notifications.
 */
function erasureSteps(step: RecordsStep, n: number): void {
  const { rewritten, hasCleared } = step.state.transactions[n];
  const isReversed = step.is('an erasure rewrites the notifications before the events');
  if (!isReversed || hasCleared)
    for (const change of eventsOf(step, n))
      if (!(rewritten & (1 << change)) && !step.isLocked(step.state, change))
        step.take(recordsLabel('erase an event', n, change), (to) => {
          to.transactions[n].rewritten |= 1 << change;
        });
  if (!hasCleared && (isReversed || isRewritten(step, n)))
    step.take(recordsLabel('erase the notifications', n), (to) => {
      to.transactions[n].hasCleared = 1;
      for (const change of eventsOf(step, n)) to.changes[change].cleared = to.changes[change].notified;
    });
}
