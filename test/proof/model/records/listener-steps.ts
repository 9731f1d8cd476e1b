import { ROW } from './records-state.js';
import { recordsLabel, type RecordsStep } from './records-step.js';

/**
 * Emits the steps that change subscriptions. In the same transaction, a trigger updates the subscription's row in
 * `event_listeners`. No other transaction waits for this transaction or reads its uncommitted changes. In the model,
 * the whole transaction is therefore one step.
 */
export function listenerSteps(step: RecordsStep): void {
  for (const [s, { selected, listed }] of step.state.subscriptions.entries()) {
    const isLate = step.is('a listener is kept in a transaction of its own');
    if (isLate && listed < selected)
      step.take(recordsLabel('list the subscription', s), (to) => void (to.subscriptions[s].listed = selected));
    if (selected + 1 === step.versions[s].length) continue;
    const isKept =
      !isLate && !(step.is('the service keeps the listeners') && step.versions[s][selected + 1].endsWith('*'));
    step.take(
      recordsLabel('change the subscription', s),
      (to) => {
        const one = to.subscriptions[s];
        one.selected++;
        if (isKept) one.listed = one.selected;
        // If an event is not yet translated, a subscription that no longer selects the event's change need not get the
        // event.
        for (const [change, event] of to.changes.entries())
          if (event.row !== ROW.SETTLED && !step.selects(s, one.selected, change)) event.owed &= ~(1 << s);
      },
      false,
    );
  }
}
