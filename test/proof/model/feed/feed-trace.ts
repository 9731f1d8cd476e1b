import { decode } from './feed-state.js';
import { readFeedLabel, type FeedConfiguration, type FeedStepName } from './feed-step.js';
import { FeedModel } from './feed.model.js';

/** An operation of a real run. Its effect lies between its start and its end. */
export type Operation = { readonly start: number; readonly end: number } & (
  | { readonly what: 'begin'; readonly n: number; readonly xid: number }
  | { readonly what: 'lock' | 'commit' | 'roll back'; readonly n: number }
  | { readonly what: 'write'; readonly n: number; readonly place: number; readonly position: number }
  /** A page of the feed: the numbers of its transactions, in the order of the page. */
  | { readonly what: 'page' | 'page from now'; readonly entries: readonly number[] }
);

/** A possible state of the model, with the started operations that have had their effect, as bits. */
interface Possible {
  readonly bytes: Uint8Array;
  readonly done: number;
}

/**
 * Finds the first operation that the model cannot explain. It tries every order of concurrent operations.
 *
 * @param operations the operations of all writers and of one reader; transactions are numbered in the order of their
 *   ids, from 0, and ids and positions count from 1
 * @returns null when the run is a path of the model
 */
export function firstUnexplained(configuration: FeedConfiguration, operations: readonly Operation[]): Operation | null {
  const model = new FeedModel(configuration);
  const moments = operations
    .flatMap((operation, bit) => [
      { at: operation.start, bit, isEnd: false },
      { at: operation.end, bit, isEnd: true },
    ])
    .sort((a, b) => a.at - b.at);
  let possible: Possible[] = [{ bytes: model.initial(), done: 0 }];
  const slots: (Operation | null)[] = [];
  const slotOf = new Map<number, number>();
  for (const { bit, isEnd } of moments) {
    if (!isEnd) {
      // An operation of the trace has a bit only while it runs.
      const free = slots.indexOf(null);
      const slot = free < 0 ? slots.length : free;
      slots[slot] = operations[bit];
      slotOf.set(bit, slot);
      continue;
    }
    const slot = slotOf.get(bit)!;
    possible = closed(model, possible, slots)
      .filter(({ done }) => done & (1 << slot))
      .map(({ bytes, done }) => ({ bytes, done: done & ~(1 << slot) }));
    if (possible.length === 0) return operations[bit];
    slots[slot] = null;
  }
  return null;
}

/** Adds every state that the running operations can reach. */
function closed(
  model: FeedModel,
  possible: readonly Possible[],
  slots: readonly (Operation | null)[],
): readonly Possible[] {
  const found = new Map<string, Possible>();
  const add = (one: Possible) => {
    const key = `${one.done} ${String(one.bytes)}`;
    if (!found.has(key)) found.set(key, one);
  };
  for (const one of possible) add(one);
  // Iterating over the Map of states includes the states that are added meanwhile.
  for (const { bytes, done } of found.values())
    model.expand(bytes, (to, label, _benign, fault) => {
      if (fault !== null) return;
      const { name, n } = readFeedLabel(label);
      for (const [slot, operation] of slots.entries()) {
        if (operation === null || done & (1 << slot)) continue;
        const effect = effectOf(operation, name, n, bytes, to);
        if (effect !== 'none') add({ bytes: to.slice(), done: effect === 'whole' ? done | (1 << slot) : done });
      }
    });
  return [...found.values()];
}

/** Returns whether the step is an operation's effect, or a part of it. */
function effectOf(
  operation: Operation,
  name: FeedStepName,
  n: number,
  from: Uint8Array,
  to: Uint8Array,
): 'none' | 'part' | 'whole' {
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

/** Returns whether the reader has seen exactly these entries in between, and they are in the feed's order. */
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
