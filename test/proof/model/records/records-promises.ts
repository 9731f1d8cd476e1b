import { isStored, ROW, type RecordsState, type Translator } from './records-state.js';
import type { RecordsStep } from './records-step.js';

/**
 * The promises about the events of records. Each promise describes behaviour that operators, and partners with
 * subscriptions, can observe.
 */

const NAMED = 'an erased person is still named';

/** Returns the promise that the commit of a transaction breaks; null if it breaks none. */
export function faultOfCommit(step: RecordsStep, to: RecordsState, n: number): string | null {
  const { record, changes } = step.scripts[n];
  const { heard, isErased } = to.records[record];
  for (const [index, change] of changes.entries()) {
    const event = to.changes[change];
    if (isStored(event)) {
      if (event.number !== heard + index + 1) return 'the number of an event is not that of its change';
      if (step.selectingSince(to.transactions[n].begun, to, change) === 0)
        return 'an event is written that no subscription selects';
    } else if (event.owed !== 0) return 'a change raises no event for its listener';
  }
  const isNamed = to.changes.some(
    (event, change) => step.recordOf(change) === record && isStored(event) && (event.isNamed || event.named),
  );
  return isErased && isNamed ? NAMED : null;
}

/** Returns the promise that a translation breaks when it settles its events; null if it breaks none. */
export function faultOfTranslation({ changes }: RecordsState, { taken, found }: Translator): string | null {
  // The second statement may only translate events that the first statement has found. The service encrypts the ids of
  // these events' feed entries between the two statements.
  if (taken & ~found) return 'an event is translated without its entry of the change feed';
  const isTwice = changes.some(({ row }, change) => row === ROW.SETTLED && taken & (1 << change));
  return isTwice ? 'an event is translated twice' : null;
}

/**
 * Returns the promise that the notifications of an event for the given subscriptions break; null if they break none.
 */
export function faultOfNotifications(
  step: RecordsStep,
  to: RecordsState,
  { seen, taken, names }: Translator,
  change: number,
  made: number,
): string | null {
  const event = to.changes[change];
  const record = step.recordOf(change);
  if (event.notified & made) return 'a subscription gets an event twice';
  if (event.owed & ~made) return 'a subscription misses an event that it selects';
  if (made & ~step.selectingSince(seen, to, change)) return 'a subscription gets an event that it does not select';
  const isLate = to.changes.some(
    ({ number, notified }, other) =>
      number > event.number && step.recordOf(other) === record && !(taken & (1 << other)) && notified & made,
  );
  if (isLate) return 'a subscription gets the events of a record out of order';
  return made && to.records[record].isErased && names & (1 << change) ? NAMED : null;
}
