/**
 * A state of the model of records' events. Every number is a byte, because states are compared as byte arrays
 * (state-search.ts).
 */

/**
 * The phases of a transaction that changes a record. READ: the statement that writes the change has taken its snapshot.
 * ENDED: the transaction was rolled back, possibly because its process ended. LOST: the transaction was committed by a
 * process that ended before it published the events; LOST occurs only in a mutation.
 */
export const PHASE = { NONE: 0, BEGUN: 1, LOCKED: 2, READ: 3, WRITTEN: 4, COMMITTED: 5, ENDED: 6, LOST: 7 } as const;
/** The states of a row in the outbox. WRITTEN: the transaction is not committed. */
export const ROW = { NONE: 0, WRITTEN: 1, UNSETTLED: 2, SETTLED: 3 } as const;
/** The phases of a translation, which has two statements. MAKING occurs only in a mutation. */
export const TRANSLATING = { IDLE: 0, FOUND: 1, LOCKING: 2, MAKING: 3 } as const;

const TRANSACTION = [
  'phase',
  /**
   * The versions of all subscriptions when the transaction began, and the versions that its writing statement finds in
   * `event_listeners`.
   */
  'begun',
  'seen',
  /** The number of the record's last event before the statement, and how many event numbers the statement has taken. */
  'base',
  'numbers',
  /** Whether any subscription of the account selected any change of records when the writing statement began. */
  'isHeard',
  /** The events that an erasure has locked and rewritten, as bits, and whether it has rewritten the notifications. */
  'rewritten',
  'hasCleared',
] as const;
const CHANGE = [
  'row',
  'number',
  /** The subscriptions that have selected the change without a break since the writing statement began, as bits. */
  'owed',
  /** Whether the event contains personal data. */
  'isNamed',
  /**
   * The subscriptions that have a notification of the event, and the subscriptions whose notification contains personal
   * data. Both are stored as bits.
   */
  'notified',
  'named',
  /** The notifications that a running erasure has rewritten, as bits. */
  'cleared',
] as const;
/**
 * The values of a subscription: the index of its current version, and the index of the version in its row of
 * `event_listeners`.
 */
const SUBSCRIPTION = ['selected', 'listed'] as const;
/**
 * The values of a record: its last event number in `event_streams`, the number of changes that were made while a
 * subscription of the account selected any change, and whether the record was erased.
 */
const RECORD = ['sequence', 'heard', 'isErased'] as const;
const TRANSLATOR = [
  'phase',
  'record',
  'upTo',
  /**
   * The events that the first statement has found, and the events that the second statement has yet to lock, as bits.
   */
  'found',
  'open',
  /**
   * The versions of the subscriptions in the snapshot of the second statement, and in the snapshot of the first
   * statement.
   */
  'seen',
  'seenFirst',
  /**
   * Three sets of events, as bits: the locked events, the translated events, and the events whose data contain personal
   * data.
   */
  'locked',
  'taken',
  'names',
  'hasSkipped',
] as const;

type Numbers<Names extends readonly string[]> = Record<Names[number], number>;
export type Transaction = Numbers<typeof TRANSACTION>;
type Change = Numbers<typeof CHANGE>;
export type Translator = Numbers<typeof TRANSLATOR>;

/** The number of elements of each kind (such as transactions and changes) in a state. */
export interface Sizes {
  readonly transactions: number;
  readonly changes: number;
  readonly subscriptions: number;
  readonly records: number;
  readonly translators: number;
}

export interface RecordsState {
  readonly transactions: readonly Transaction[];
  readonly changes: readonly Change[];
  readonly subscriptions: readonly Numbers<typeof SUBSCRIPTION>[];
  readonly records: readonly Numbers<typeof RECORD>[];
  readonly translators: readonly Translator[];
}

const NAMES = {
  transactions: TRANSACTION,
  changes: CHANGE,
  subscriptions: SUBSCRIPTION,
  records: RECORD,
  translators: TRANSLATOR,
} as const;
const KINDS = Object.keys(NAMES) as (keyof Sizes)[];

export const sizeOf = (sizes: Sizes): number =>
  KINDS.reduce((size, kind) => size + sizes[kind] * NAMES[kind].length, 0);

export function decode(bytes: Uint8Array, sizes: Sizes): RecordsState {
  let at = 0;
  const state = {} as Record<keyof Sizes, Record<string, number>[]>;
  for (const kind of KINDS) {
    state[kind] = [];
    for (let n = 0; n < sizes[kind]; n++) {
      const one: Record<string, number> = {};
      for (const name of NAMES[kind]) one[name] = bytes[at++];
      state[kind].push(one);
    }
  }
  return state as unknown as RecordsState;
}

export function encode(state: RecordsState, bytes: Uint8Array): void {
  let at = 0;
  for (const kind of KINDS)
    for (const one of state[kind] as readonly Record<string, number>[])
      for (const name of NAMES[kind]) bytes[at++] = one[name];
}

export const isRunning = ({ phase }: Transaction): boolean => phase >= PHASE.BEGUN && phase <= PHASE.WRITTEN;
export const isStored = ({ row }: Change): boolean => row === ROW.UNSETTLED || row === ROW.SETTLED;
