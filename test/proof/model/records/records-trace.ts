import { firstUnexplainedBy, type Timed } from '../explanation.js';
import { decode } from './records-state.js';
import { readRecordsLabel, type RecordsConfiguration } from './records-step.js';
import { RecordsModel } from './records.model.js';

/** An operation of a real run. Its `n` is the number of the transaction, the subscription or the translator. */
export type Operation = Timed & { readonly n: number } & (
    | {
        readonly what:
          | 'lock'
          | 'commit'
          | 'roll back'
          | 'change the subscription'
          | 'commit the translation'
          | 'roll back the translation';
      }
    /**
     * The statement in which a transaction writes its changes. `numbers` contains the event number of each change, or 0
     * if the change raises no event.
     */
    | { readonly what: 'write'; readonly numbers: readonly number[] }
    /**
     * The first statement of a translator. `upTo` is the last event that the translator was asked to translate, and
     * `found` lists the events that it found.
     */
    | { readonly what: 'find'; readonly upTo: number; readonly found: readonly number[] }
    /**
     * The second statement of a translator. `events` is the number of translated events, and `made` contains the event
     * and the subscription of each new notification.
     */
    | { readonly what: 'translate'; readonly events: number; readonly made: readonly (readonly [number, number])[] }
  );

const bitsOf = (numbers: readonly number[]) => numbers.reduce((bits, n) => bits | (1 << n), 0);

/**
 * Finds the first operation that the model cannot explain.
 * @param operations the operations of all writers, subscriptions and translators. Changes are numbered as in the
 *   configuration.
 * @returns null when the model can explain the whole run
 */
export function firstUnexplained(
  configuration: RecordsConfiguration,
  operations: readonly Operation[],
): Operation | null {
  const model = new RecordsModel(configuration);
  const { step } = model;
  return firstUnexplainedBy(model, operations, (operation, label, _from, to) => {
    const { name, n, other } = readRecordsLabel(label);
    if (n !== operation.n) return 'none';
    const is = (fits: boolean) => (fits ? 'whole' : 'none');
    switch (operation.what) {
      case 'write': {
        if (name === 'read') return 'part';
        const { changes } = decode(to, step.sizes);
        const numbers = step.scripts[n].changes.map((change) => changes[change].number);
        return is(name === 'write' && String(numbers) === String(operation.numbers));
      }
      case 'find': {
        if (name !== 'find' || other !== operation.upTo) return 'none';
        return is(decode(to, step.sizes).translators[n].found === bitsOf(operation.found));
      }
      case 'translate': {
        if (name !== 'translate' && name !== 'lock an event') return 'none';
        const { open, taken, seen } = decode(to, step.sizes).translators[n];
        if (open !== 0) return 'part';
        const events = [...step.letters.keys()].filter((change) => taken & (1 << change));
        const made = events.flatMap((change) =>
          step.versions.flatMap((_all, s) => (step.selecting(seen, change) & (1 << s) ? [[change, s]] : [])),
        );
        return is(events.length === operation.events && textOf(made) === textOf(operation.made));
      }
      default:
        return is(name === operation.what);
    }
  });
}

const textOf = (pairs: readonly (readonly number[])[]) => pairs.map(String).sort().join(' ');
