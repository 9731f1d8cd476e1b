import type { Protocol } from './state-search.js';

/** An operation of a real run. The operation takes effect at some moment between its start and its end. */
export interface Timed {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns whether the step from one state to another is the whole effect of the operation, or a part of the effect.
 * @param label the step's label, as for `Protocol.describe`
 */
export type EffectOf<Operation> = (
  operation: Operation,
  label: number,
  from: Uint8Array,
  to: Uint8Array,
) => 'none' | 'part' | 'whole';

/** A possible state of the model. `done` contains one bit for each running operation that has already taken effect. */
interface Possible {
  readonly bytes: Uint8Array;
  readonly done: number;
}

/**
 * Finds the first operation of a real run that the protocol cannot explain. For concurrent operations, the search tries
 * every order.
 * @returns null when the protocol can explain the whole run
 */
export function firstUnexplainedBy<Operation extends Timed>(
  protocol: Protocol,
  operations: readonly Operation[],
  effectOf: EffectOf<Operation>,
): Operation | null {
  const moments = operations
    .flatMap((operation, bit) => [
      { at: operation.start, bit, isEnd: false },
      { at: operation.end, bit, isEnd: true },
    ])
    .sort((a, b) => a.at - b.at);
  let possible: Possible[] = [{ bytes: protocol.initial(), done: 0 }];
  const slots: (Operation | null)[] = [];
  const slotOf = new Map<number, number>();
  for (const { bit, isEnd } of moments) {
    if (!isEnd) {
      // An operation of the trace has a bit in `done` only while the operation is running.
      const free = slots.indexOf(null);
      const slot = free < 0 ? slots.length : free;
      slots[slot] = operations[bit];
      slotOf.set(bit, slot);
      continue;
    }
    const slot = slotOf.get(bit)!;
    possible = closed(protocol, possible, slots, effectOf)
      .filter(({ done }) => done & (1 << slot))
      .map(({ bytes, done }) => ({ bytes, done: done & ~(1 << slot) }));
    if (possible.length === 0) return operations[bit];
    slots[slot] = null;
  }
  return null;
}

/** Adds every state that is possible after any of the running operations have taken effect. */
function closed<Operation>(
  protocol: Protocol,
  possible: readonly Possible[],
  slots: readonly (Operation | null)[],
  effectOf: EffectOf<Operation>,
): readonly Possible[] {
  const found = new Map<string, Possible>();
  const add = (one: Possible) => {
    const key = `${one.done} ${String(one.bytes)}`;
    if (!found.has(key)) found.set(key, one);
  };
  for (const one of possible) add(one);
  // The loop over the Map of states also visits the states that are added during the loop.
  for (const { bytes, done } of found.values())
    protocol.expand(bytes, (to, label, _benign, fault) => {
      if (fault !== null) return;
      for (const [slot, operation] of slots.entries()) {
        if (operation === null || done & (1 << slot)) continue;
        const effect = effectOf(operation, label, bytes, to);
        if (effect !== 'none') add({ bytes: to.slice(), done: effect === 'whole' ? done | (1 << slot) : done });
      }
    });
  return [...found.values()];
}
