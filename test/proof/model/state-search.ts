/**
 * Searches all possible behaviour of a protocol, breadth first.
 *
 * States are byte arrays of equal length, stored consecutively in one buffer. A hash table with open addressing finds
 * the number of a state. Because the search is breadth-first, the displayed path to a fault is a shortest path.
 */

/** Emits a step of the protocol from one state to another. */
export interface Emit {
  /**
   * Receives a step of the protocol.
   * @param label identifies the step, for `Protocol.describe`
   * @param benign whether the step needs no fault, no operator and no new failure. Progress must be possible by benign
   *   steps alone.
   * @param fault the promise that the step itself breaks; null if it breaks none
   */
  (to: Uint8Array, label: number, benign: boolean, fault: string | null): void;
}

export interface Protocol {
  readonly size: number;
  initial(): Uint8Array;
  /** Emits every step that leads out of the state. The array that is passed to `emit` may be the same each time. */
  expand(from: Uint8Array, emit: Emit): void;
  /** Returns the promise that the state breaks; null if it breaks none. */
  faultOf(state: Uint8Array): string | null;
  /** Returns whether the protocol has no work left in the state. */
  isSettled(state: Uint8Array): boolean;
  describe(label: number): string;
}

export interface Verdict {
  readonly states: number;
  readonly steps: number;
  /** The broken promise that the search has found; null if all promises hold. */
  readonly fault: string | null;
  /** The descriptions of the steps that lead to the broken promise. */
  readonly trace: readonly string[];
  /** Whether the search ended before all states were visited. */
  readonly truncated: boolean;
}

const NO_STATE = -1;

/** The visited states, numbered in the order of their discovery. */
export class StateStore {
  private bytes: Uint8Array;
  private table: Int32Array;
  private mask: number;
  count = 0;

  constructor(private readonly size: number) {
    this.bytes = new Uint8Array(size * 4096);
    this.table = new Int32Array(16_384).fill(NO_STATE);
    this.mask = this.table.length - 1;
  }

  /** Returns a view of the state with this number, which is valid until the next `add`. */
  at(index: number): Uint8Array {
    return this.bytes.subarray(index * this.size, (index + 1) * this.size);
  }

  /**
   * Adds the state if it is new. Returns the number of the state if it was known, and `-1 - number` if it was added.
   */
  add(state: Uint8Array): number {
    if (this.count * 2 > this.mask) this.grow();
    let slot = hash(state, 0, this.size) & this.mask;
    for (;;) {
      const found = this.table[slot];
      if (found === NO_STATE) break;
      if (this.equals(found, state)) return found;
      slot = (slot + 1) & this.mask;
    }
    const index = this.count++;
    if ((index + 1) * this.size > this.bytes.length) {
      const larger = new Uint8Array(this.bytes.length * 2);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes.set(state, index * this.size);
    this.table[slot] = index;
    return -1 - index;
  }

  private equals(index: number, state: Uint8Array): boolean {
    const { bytes, size } = this;
    for (let i = 0, at = index * size; i < size; i++, at++) if (bytes[at] !== state[i]) return false;
    return true;
  }

  private grow(): void {
    this.table = new Int32Array(this.table.length * 2).fill(NO_STATE);
    this.mask = this.table.length - 1;
    for (let index = 0; index < this.count; index++) {
      let slot = hash(this.bytes, index * this.size, this.size) & this.mask;
      while (this.table[slot] !== NO_STATE) slot = (slot + 1) & this.mask;
      this.table[slot] = index;
    }
  }
}

/** Returns the FNV-1a hash of a range of bytes. */
function hash(bytes: Uint8Array, from: number, size: number): number {
  let h = 0x811c9dc5;
  for (let i = from; i < from + size; i++) h = Math.imul(h ^ bytes[i], 0x01000193);
  return (h ^ (h >>> 15)) >>> 0;
}

/** A list of numbers in a typed array. When the array is full, it is replaced with a larger array. */
class Numbers {
  private values = new Int32Array(8192);
  length = 0;

  push(value: number): void {
    if (this.length === this.values.length) {
      const larger = new Int32Array(this.length * 2);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.length++] = value;
  }

  at(index: number): number {
    return this.values[index];
  }
}

/** Visits every state that is possible, or at most `most` of these states. */
export function search(protocol: Protocol, most = Infinity): Verdict {
  const store = new StateStore(protocol.size);
  const [cameFrom, cameBy] = [new Numbers(), new Numbers()];
  // The benign steps, grouped by the state to which they lead, for the backward search.
  const [benignFrom, benignTo] = [new Numbers(), new Numbers()];
  const current = new Uint8Array(protocol.size);
  let steps = 0;
  // The step that breaks a promise. The state alone would not identify the fault, because other steps to the same state
  // may break no promise.
  let broken: { from: number; label: number; fault: string } | null = null;

  const enter = (state: Uint8Array, from: number, label: number): number => {
    const index = store.add(state);
    if (index >= 0) return index;
    cameFrom.push(from);
    cameBy.push(label);
    const fault = protocol.faultOf(state);
    if (fault !== null) broken ??= { from, label, fault };
    return -1 - index;
  };
  const traceTo = (index: number): string[] => {
    const trace: string[] = [];
    for (let at = index; cameFrom.at(at) >= 0; at = cameFrom.at(at)) trace.push(protocol.describe(cameBy.at(at)));
    return trace.reverse();
  };
  const verdict = (fault: string | null, trace: string[], truncated = false): Verdict => ({
    states: store.count,
    steps,
    fault,
    trace,
    truncated,
  });

  enter(protocol.initial(), -1, 0);
  let next = 0;
  for (; next < store.count && store.count < most; next++) {
    current.set(store.at(next));
    protocol.expand(current, (to, label, benign, fault) => {
      steps += 1;
      const index = enter(to, next, label);
      if (fault !== null) broken ??= { from: next, label, fault };
      if (benign) {
        benignFrom.push(next);
        benignTo.push(index);
      }
    });
    // The type of the variable is asserted, because TypeScript does not see that a closure assigns a value to the
    // variable.
    const found = broken as { from: number; label: number; fault: string } | null;
    if (found !== null) return verdict(found.fault, [...traceTo(found.from), protocol.describe(found.label)]);
  }
  if (next < store.count) return verdict(null, [], true);

  const stuck = firstStuck(protocol, store, benignFrom, benignTo);
  return stuck === null ? verdict(null, []) : verdict('stuck', traceTo(stuck));
}

/** Returns the first state from which no benign steps lead to a settled state; null if there is none. */
function firstStuck(protocol: Protocol, store: StateStore, from: Numbers, to: Numbers): number | null {
  // For the backward search, steps are grouped by the state to which they lead.
  const first = new Int32Array(store.count + 1);
  for (let i = 0; i < to.length; i++) first[to.at(i) + 1] += 1;
  for (let i = 0; i < store.count; i++) first[i + 1] += first[i];
  const fill = first.slice();
  const sources = new Int32Array(to.length);
  for (let i = 0; i < to.length; i++) sources[fill[to.at(i)]++] = from.at(i);

  const good = new Uint8Array(store.count);
  const queue = new Numbers();
  for (let index = 0; index < store.count; index++) {
    if (!protocol.isSettled(store.at(index))) continue;
    good[index] = 1;
    queue.push(index);
  }
  for (let i = 0; i < queue.length; i++) {
    const index = queue.at(i);
    for (let at = first[index]; at < first[index + 1]; at++) {
      if (good[sources[at]]) continue;
      good[sources[at]] = 1;
      queue.push(sources[at]);
    }
  }
  const stuck = good.indexOf(0);
  return stuck < 0 ? null : stuck;
}
