import { firstUnexplainedBy, type Timed } from '../explanation.js';
import { decode } from './feed-state.js';
import { readFeedLabel, type FeedConfiguration } from './feed-step.js';
import { FeedModel } from './feed.model.js';

/** An operation of a real run. */
export type Operation = Timed &
  (
    | { readonly what: 'begin'; readonly n: number; readonly xid: number }
    | { readonly what: 'lock' | 'commit' | 'roll back'; readonly n: number }
    | { readonly what: 'write'; readonly n: number; readonly place: number; readonly position: number }
    /**
     * A page of the feed. `entries` contains the numbers of the transactions that wrote its entries, in the page's
     * order.
     */
    | { readonly what: 'page' | 'page from now'; readonly entries: readonly number[] }
  );

/**
 * Finds the first operation that the model cannot explain.
 *
 * @param operations the operations of all writers and of one reader. Transactions are numbered from 0, in the order of
 *   their ids. Ids and positions are counted from 1.
 * @returns null when the model can explain the whole run
 */
export function firstUnexplained(configuration: FeedConfiguration, operations: readonly Operation[]): Operation | null {
  return firstUnexplainedBy(new FeedModel(configuration), operations, effectOf);
}

/** Returns whether the step is the whole effect of an operation, or a part of that effect. */
function effectOf(operation: Operation, label: number, from: Uint8Array, to: Uint8Array): 'none' | 'part' | 'whole' {
  const { name, n } = readFeedLabel(label);
  const is = (fits: boolean) => (fits ? 'whole' : 'none');
  switch (operation.what) {
    case 'begin':
      return is(name === 'begin' && n === operation.n && decode(to).transactions[n].xid === operation.xid);
    case 'write': {
      if (n !== operation.n || (name !== 'place' && name !== 'write')) return 'none';
      const { place, position } = decode(to).transactions[n];
      if (place !== operation.place) return 'none';
      return name === 'place' ? 'part' : is(position === operation.position);
    }
    case 'page':
    case 'page from now': {
      const isNow = operation.what === 'page from now';
      if (name === 'wait' || name === (isNow ? 'ask from now' : 'ask') || (!isNow && name === 'ask from the beginning'))
        return 'part';
      return is(name === (isNow ? 'answer now' : 'answer') && lists(operation.entries, from, to));
    }
    default:
      return is(name === operation.what && n === operation.n);
  }
}

/** Returns whether the reader got exactly the given entries between the two states, in the order of the feed. */
function lists(entries: readonly number[], from: Uint8Array, to: Uint8Array): boolean {
  const { transactions, reader } = decode(to);
  const listed = reader.seen & ~decode(from).reader.seen;
  return (
    listed === entries.reduce((bits, n) => bits | (1 << n), 0) &&
    entries.slice(1).every((n, index) => {
      const [a, b] = [transactions[entries[index]], transactions[n]];
      return (a.generation - b.generation || a.place - b.place || a.position - b.position) < 0;
    })
  );
}
