import { faultOfNotifications, faultOfTranslation } from './records-promises.js';
import { PHASE, ROW, TRANSLATING, type RecordsState, type Translator } from './records-state.js';
import { recordsLabel, type RecordsStep } from './records-step.js';

/**
 * Emits the steps of processes that translate events into notifications. Each process first finds the events of a
 * record in one statement. In a second statement, which is a transaction, it locks and translates the events.
 */
export function translatorSteps(step: RecordsStep): void {
  for (const [t, translator] of step.state.translators.entries()) {
    const { phase, open } = translator;
    if (phase === TRANSLATING.IDLE) for (const upTo of publishedIn(step)) find(step, t, upTo);
    if (phase === TRANSLATING.FOUND) translate(step, t);
    if (phase === TRANSLATING.LOCKING && open !== 0) lockNext(step, t);
    if (phase === TRANSLATING.LOCKING && open === 0) settle(step, t);
    if (phase === TRANSLATING.MAKING) step.take(recordsLabel('make notifications', t), (to) => make(step, to, t));
    if (phase !== TRANSLATING.IDLE)
      step.take(recordsLabel('roll back the translation', t), (to) => end(to.translators[t]), false);
  }
}

function isUnsettled({ changes }: RecordsState, change: number): boolean {
  return changes[change].row === ROW.UNSETTLED;
}

/**
 * Returns the unsettled events that a process can be asked to translate. The process that commits an event publishes
 * it, and the sweeps of all processes publish it again. Only in a mutation without these sweeps can an event stay
 * unpublished.
 */
function publishedIn({ state, writerOf }: RecordsStep): number[] {
  return [...state.changes.keys()].filter(
    (change) => isUnsettled(state, change) && state.transactions[writerOf(change)].phase !== PHASE.LOST,
  );
}

/** Returns the unsettled events of a record up to the given event number, as bits. */
function unsettled(step: RecordsStep, state: RecordsState, record: number, upTo: number): number {
  return state.changes.reduce(
    (bits, { number }, change) =>
      isUnsettled(state, change) && step.recordOf(change) === record && number <= upTo ? bits | (1 << change) : bits,
    0,
  );
}

function find(step: RecordsStep, t: number, change: number): void {
  step.take(recordsLabel('find', t, change), (to) => {
    const [record, upTo] = [step.recordOf(change), to.changes[change].number];
    const found = unsettled(step, to, record, upTo);
    const seenFirst = step.is('a translation reads the subscriptions in its first statement')
      ? step.versionsOf(to, 'selected')
      : 0;
    Object.assign(to.translators[t], { phase: TRANSLATING.FOUND, record, upTo, found, seenFirst });
  });
}

/** Takes the snapshot of the second statement. */
function translate(step: RecordsStep, t: number): void {
  step.take(recordsLabel('translate', t), (to) => {
    const one = to.translators[t];
    one.phase = TRANSLATING.LOCKING;
    one.open = unsettled(step, to, one.record, one.upTo);
    one.seen = step.versionsOf(to, 'selected');
    if (step.is('a translation reads the data of its snapshot'))
      for (const [change, { isNamed }] of to.changes.entries()) if (isNamed) one.names |= one.open & (1 << change);
  });
}

/** Locks the next event, unless another transaction has locked it, and checks again whether the event is unsettled. */
function lockNext(step: RecordsStep, t: number): void {
  const { open } = step.state.translators[t];
  const numbers = step.state.changes.map(({ number }, change) => (open & (1 << change) ? number : Infinity));
  const change = numbers.indexOf(Math.min(...numbers));
  const isFree = !step.isLocked(step.state, change) || step.is('a translation does not lock the events');
  step.take(recordsLabel('lock an event', t, change), (to) => {
    const [one, bit] = [to.translators[t], 1 << change];
    one.open &= ~bit;
    if (isFree && !step.is('a translation does not lock the events')) one.locked |= bit;
    const isOpen = isFree && (isUnsettled(to, change) || step.is('a locked event is not looked at again'));
    if (!isOpen) one.hasSkipped = 1;
    if (!isOpen || (one.hasSkipped && !step.is('a later event passes a locked one'))) return;
    one.taken |= bit;
    if (to.changes[change].isNamed && !step.is('a translation reads the data of its snapshot')) one.names |= bit;
  });
}

/** Settles the events and creates their notifications. Both changes become visible at the same moment. */
function settle(step: RecordsStep, t: number): void {
  step.take(recordsLabel('commit the translation', t), (to) => {
    const one = to.translators[t];
    const fault = faultOfTranslation(to, one);
    for (const [change, event] of to.changes.entries()) if (one.taken & (1 << change)) event.row = ROW.SETTLED;
    if (step.is('an event is settled in a transaction of its own')) {
      one.phase = TRANSLATING.MAKING;
      return fault;
    }
    return make(step, to, t) ?? fault;
  });
}

function make(step: RecordsStep, to: RecordsState, t: number): string | null {
  const one = to.translators[t];
  let fault: string | null = null;
  for (const [change, event] of to.changes.entries()) {
    if (!(one.taken & (1 << change))) continue;
    const isEarly = step.is('a translation reads the subscriptions in its first statement');
    const made = step.selecting(isEarly ? one.seenFirst : one.seen, change);
    fault ??= faultOfNotifications(step, to, one, change, made);
    event.notified |= made;
    event.owed = 0;
    if (one.names & (1 << change)) event.named |= made;
  }
  end(one);
  return fault;
}

function end(one: Translator): void {
  for (const name of Object.keys(one) as (keyof Translator)[]) one[name] = 0;
}
