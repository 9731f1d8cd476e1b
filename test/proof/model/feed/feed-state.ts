/**
 * A state of the change feed's model. Every number is a byte, because states are compared as byte arrays
 * (state-search.ts).
 *
 * Time advances in ticks. A tick stands for a day, which is the longest time that a transaction may last. The model
 * compresses longer times: its month has only two ticks.
 */

/**
 * The phases of a transaction that writes one entry. PLACED: the writing statement has taken its snapshot, but the
 * entry has no position yet. ENDED: the transaction was rolled back, or was lost in a crash or a restore.
 */
export const PHASE = { NONE: 0, BEGUN: 1, LOCKED: 2, PLACED: 3, WRITTEN: 4, COMMITTED: 5, ENDED: 6 } as const;
/** The phases of the reader. WAITING: the request waits for transactions that were running when the request arrived. */
export const READING = { START: 0, IDLE: 1, WAITING: 2, REFUSED: 3 } as const;

const DATABASE = [
  /** The id of the next transaction, and the highest id whose transaction has ended. */
  'nextXid',
  'latestEnded',
  'sequence',
  'epoch',
  'timeline',
  'tick',
  /** The first tick of the oldest month whose entries are kept. */
  'keptFrom',
  'commits',
  /** The number of crashes, failovers and restores that have happened so far. */
  'failures',
  /**
   * The entries that the backup contains, as bits, and the counters at the time of the backup. `backupXid` is 0 while
   * no backup exists.
   */
  'backup',
  'backupXid',
  'backupSequence',
  'backupTimeline',
] as const;
/**
 * The values that a request of the reader keeps from its first statement until its response, such as the time of its
 * arrival.
 */
export const REQUEST = [
  'asksNow',
  'askedGeneration',
  'askedXmax',
  'askedTick',
  'askedKeptFrom',
  'askedCommitted',
] as const;
const READER = [
  'phase',
  // The reader's cursor. Its values locate the last entry of the last page, and include the index of this entry plus 1.
  // Times are stored as ticks plus 1; 0 means that the cursor contains no time.
  'generation',
  'place',
  'position',
  'entry',
  'at',
  'told',
  'given',
  ...REQUEST,
  // Three sets of entries, as bits: the entries that a page has contained, the entries that no page needs to contain,
  // and the entries that no page may contain.
  'seen',
  'excused',
  'before',
] as const;
const TRANSACTION = [
  'phase',
  'xid',
  /** The tick (time) in which the transaction got its id. */
  'since',
  'generation',
  'place',
  'position',
  /** The tick (time) in which the transaction wrote its entry. */
  'at',
  /** The number of the commit, which shows the real order of changes. */
  'commit',
] as const;

type Numbers<Names extends readonly string[]> = Record<Names[number], number>;
export type Transaction = Numbers<typeof TRANSACTION>;
export type Reader = Numbers<typeof READER>;

export interface FeedState {
  readonly database: Numbers<typeof DATABASE>;
  readonly reader: Reader;
  readonly transactions: readonly Transaction[];
}

export const sizeOf = (transactions: number): number =>
  DATABASE.length + READER.length + transactions * TRANSACTION.length;

export function decode(bytes: Uint8Array): FeedState {
  let at = 0;
  const read = <Names extends readonly string[]>(names: Names): Numbers<Names> => {
    const numbers: Record<string, number> = {};
    for (const name of names) numbers[name] = bytes[at++];
    return numbers as Numbers<Names>;
  };
  const [database, reader] = [read(DATABASE), read(READER)];
  const transactions: Transaction[] = [];
  while (at < bytes.length) transactions.push(read(TRANSACTION));
  return { database, reader, transactions };
}

export function encode({ database, reader, transactions }: FeedState, bytes: Uint8Array): void {
  let at = 0;
  for (const name of DATABASE) bytes[at++] = database[name];
  for (const name of READER) bytes[at++] = reader[name];
  for (const transaction of transactions) for (const name of TRANSACTION) bytes[at++] = transaction[name];
}

export const isRunning = ({ phase }: Transaction): boolean => phase >= PHASE.BEGUN && phase <= PHASE.WRITTEN;

/** Returns the transactions that meet the condition, as bits. */
export function bitsOf({ transactions }: FeedState, fits: (one: Transaction, n: number) => boolean): number {
  return transactions.reduce((bits, one, n) => (fits(one, n) ? bits | (1 << n) : bits), 0);
}
