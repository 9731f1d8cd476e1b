import type { Emit } from '../state-search.js';
import type { RecordsMutation } from './records-mutations.js';
import { decode, encode, PHASE, sizeOf, type RecordsState, type Sizes } from './records-state.js';

/** A configuration of the model of records' events that is small enough for a search of all its states. */
export interface RecordsConfiguration {
  readonly name: string;
  /**
   * The transactions, such as `aU aUH bH`. Each word contains the letter of the record, followed by a letter for each
   * change. `X` erases the record. A change with a lower-case letter is made by a process of the earlier release, which
   * raises no events.
   */
  readonly changes: string;
  /**
   * The versions of each subscription, such as `0 UH 0`. Each word contains the letters of the changes that the version
   * selects. The word `0` selects no changes, as if the subscription were deleted. `*` marks a version that a process
   * of the earlier release writes.
   */
  readonly subscriptions: readonly string[];
  readonly translators: number;
}

const STEPS = [
  'begin',
  'lock',
  'erase an event',
  'erase the notifications',
  'read',
  'write',
  'commit',
  'roll back',
  'lose',
  'change the subscription',
  'list the subscription',
  'find',
  'translate',
  'lock an event',
  'make notifications',
  'commit the translation',
  'roll back the translation',
] as const;
type RecordsStepName = (typeof STEPS)[number];

/** Returns the label of a step. `other` is the event that is erased, or the last event that is to be translated. */
export const recordsLabel = (name: RecordsStepName, n: number, other = 0): number =>
  (STEPS.indexOf(name) << 8) | (other << 4) | n;

export function readRecordsLabel(label: number): { name: RecordsStepName; n: number; other: number } {
  return { name: STEPS[label >> 8], n: label & 15, other: (label >> 4) & 15 };
}

/** A transaction of the configuration, with its record, its kind and its changes. These are the same in all states. */
interface Script {
  readonly record: number;
  readonly isErasure: boolean;
  readonly isOfEarlierRelease: boolean;
  /** The indexes of the transaction's changes, in their order. */
  readonly changes: readonly number[];
}

const BITS_OF_VERSION = 2;

/**
 * A state of the model of records' events, with functions that read it as the protocol does, and emit the steps that
 * lead out of it.
 */
export class RecordsStep {
  state!: RecordsState;
  private emit!: Emit;
  private readonly to: Uint8Array;
  readonly scripts: readonly Script[];
  /** The letter of each change. */
  readonly letters: readonly string[];
  /** The changes that each version of each subscription selects. */
  readonly versions: readonly (readonly string[])[];
  readonly sizes: Sizes;
  readonly size: number;

  constructor(
    configuration: RecordsConfiguration,
    private readonly mutation: RecordsMutation | null,
  ) {
    const transactions = configuration.changes.split(' ');
    const names = [...new Set(transactions.map(([record]) => record))];
    this.letters = transactions.flatMap((one) => [...one.slice(1)]);
    let change = 0;
    this.scripts = transactions.map(([record, ...letters]) => ({
      record: names.indexOf(record),
      isErasure: letters.includes('X'),
      isOfEarlierRelease: letters.every((letter) => letter > 'Z'),
      changes: letters.map(() => change++),
    }));
    this.versions = configuration.subscriptions.map((versions) => versions.split(' '));
    this.sizes = {
      transactions: transactions.length,
      changes: this.letters.length,
      subscriptions: this.versions.length,
      records: names.length,
      translators: configuration.translators,
    };
    this.size = sizeOf(this.sizes);
    this.to = new Uint8Array(this.size);
  }

  leave(from: Uint8Array, emit: Emit): void {
    this.state = decode(from, this.sizes);
    this.emit = emit;
  }

  is(mutation: RecordsMutation): boolean {
    return this.mutation === mutation;
  }

  /** Emits the step that leads from the state to a changed copy of it. */
  take(label: number, change: (to: RecordsState) => string | null | void, benign = true): void {
    const { transactions, changes, subscriptions, records, translators } = this.state;
    const next: RecordsState = {
      transactions: transactions.map((one) => ({ ...one })),
      changes: changes.map((one) => ({ ...one })),
      subscriptions: subscriptions.map((one) => ({ ...one })),
      records: records.map((one) => ({ ...one })),
      translators: translators.map((one) => ({ ...one })),
    };
    const fault = change(next) ?? null;
    encode(next, this.to);
    this.emit(this.to, label, benign, fault);
  }

  /** Returns the versions of the subscriptions, or of their rows in `event_listeners`, in one byte. */
  versionsOf({ subscriptions }: RecordsState, of: 'selected' | 'listed'): number {
    return subscriptions.reduce((bits, one, s) => bits | (one[of] << (s * BITS_OF_VERSION)), 0);
  }

  /** Returns the subscriptions that select the change in the given versions, as bits. */
  selecting(versions: number, change: number): number {
    return this.bits((s) => this.selects(s, (versions >> (s * BITS_OF_VERSION)) & 3, change));
  }

  /** Returns the subscriptions that selected the change in the given versions or in any later version, as bits. */
  selectingSince(versions: number, to: RecordsState, change: number): number {
    return this.bits((s) => {
      for (let at = (versions >> (s * BITS_OF_VERSION)) & 3; at <= to.subscriptions[s].selected; at++)
        if (this.selects(s, at, change)) return true;
      return false;
    });
  }

  isAnyListed(versions: number): boolean {
    return this.versions.some((all, s) => !all[(versions >> (s * BITS_OF_VERSION)) & 3].startsWith('0'));
  }

  selects(subscription: number, version: number, change: number): boolean {
    return this.versions[subscription][version].includes(this.letters[change]);
  }

  /** Returns the transaction of a change. */
  readonly writerOf = (change: number): number => this.scripts.findIndex(({ changes }) => changes.includes(change));

  recordOf(change: number): number {
    return this.scripts[this.writerOf(change)].record;
  }

  /** Returns whether the row of the event is locked by a translation or an erasure. */
  isLocked({ translators, transactions }: RecordsState, change: number): boolean {
    const bit = 1 << change;
    return (
      translators.some(({ locked }) => locked & bit) ||
      transactions.some(({ phase, rewritten }) => phase < PHASE.COMMITTED && rewritten & bit)
    );
  }

  private bits(fits: (subscription: number) => boolean): number {
    return this.versions.reduce((bits, _one, s) => (fits(s) ? bits | (1 << s) : bits), 0);
  }
}
