import type { Emit } from '../state-search.js';
import { decode, encode, isRunning, PHASE, type FeedState, type Transaction } from './feed-state.js';
import type { FeedMutation } from './feed-mutations.js';

/** The length of a month, the retention of entries, and the maximum duration of a transaction, each in ticks. */
export const MONTH = 2;
export const RETENTION = 2;
export const LATE = 1;

/** A configuration of the change feed's model that is small enough for a search of all its states. */
export interface FeedConfiguration {
  readonly name: string;
  /**
   * The changes, one per transaction, such as `aE bR`. The first letter of each change names the record, and the second
   * letter the kind of change.
   */
  readonly changes: string;
  readonly limit: number;
  /** The kind of changes that the reader asks for. If it is omitted, the reader asks for every kind. */
  readonly kind?: string;
  /** The number of crashes with a restart, and the number of promotions of a synchronous standby, that may happen. */
  readonly crashes?: number;
  readonly failovers?: number;
  /** Whether the model makes a backup of the database and restores it. */
  readonly restores?: boolean;
  /** The number of ticks of time that may pass in the model. */
  readonly ticks?: number;
  /** The number of ticks by which the clock of the service is ahead of the database's clock. */
  readonly ahead?: number;
}

const STEPS = [
  'begin',
  'lock',
  'place',
  'write',
  'commit',
  'roll back',
  'time passes',
  'drop a month',
  'crash',
  'promote the standby',
  'back up',
  'restore the folder',
  'restore by the log',
  'restore the dump',
  'ask from the beginning',
  'ask from now',
  'ask',
  'wait',
  'answer',
  'answer now',
  'refuse',
] as const;
export type FeedStepName = (typeof STEPS)[number];

export const feedLabel = (name: FeedStepName, n = 0): number => (STEPS.indexOf(name) << 4) | n;

export function readFeedLabel(label: number): { name: FeedStepName; n: number } {
  return { name: STEPS[label >> 4], n: label & 15 };
}

/**
 * The bounds of a snapshot. When the snapshot was taken, every transaction with an id below `xmin` had ended, and every
 * transaction with an id below `xmax` had begun.
 */
export interface Snapshot {
  readonly generation: number;
  readonly xmin: number;
  readonly xmax: number;
}

/**
 * A state of the change feed's model, with functions that read it as the protocol does, and emit the steps that lead
 * out of it.
 */
export class FeedStep {
  state!: FeedState;
  private emit!: Emit;
  private readonly to: Uint8Array;
  readonly records: readonly string[];
  private readonly kinds: readonly string[];

  constructor(
    size: number,
    readonly configuration: FeedConfiguration,
    private readonly mutation: FeedMutation | null,
  ) {
    this.to = new Uint8Array(size);
    const changes = configuration.changes.split(' ');
    this.records = changes.map(([record]) => record);
    this.kinds = changes.map(([, kind]) => kind);
  }

  leave(from: Uint8Array, emit: Emit): void {
    this.state = decode(from);
    this.emit = emit;
  }

  is(mutation: FeedMutation): boolean {
    return this.mutation === mutation;
  }

  /** Emits the step that leads from the state to a changed copy of it. */
  take(label: number, change: (to: FeedState) => string | null | void, benign = true): void {
    const { database, reader, transactions } = this.state;
    const next = {
      database: { ...database },
      reader: { ...reader },
      transactions: transactions.map((one) => ({ ...one })),
    };
    const fault = change(next) ?? null;
    encode(next, this.to);
    this.emit(this.to, label, benign, fault);
  }

  get clock(): number {
    return this.state.database.tick + (this.configuration.ahead ?? 0);
  }

  isAsked(n: number): boolean {
    const { kind } = this.configuration;
    return kind === undefined || this.kinds[n] === kind;
  }

  /** Returns whether the table of the change feed contains the entry. */
  isStored({ phase, at }: Transaction): boolean {
    return phase === PHASE.COMMITTED && at >= this.state.database.keptFrom;
  }

  get snapshot(): Snapshot {
    const { database, transactions } = this.state;
    const xmax = database.latestEnded + 1;
    const xmin = Math.min(xmax, ...transactions.filter(isRunning).map(({ xid }) => xid));
    return { generation: generationOf(this.state), xmin, xmax };
  }

  /** Compares the positions of two entries in the feed. */
  compare(
    a: Pick<Transaction, 'generation' | 'place' | 'position'>,
    b: Pick<Transaction, 'generation' | 'place' | 'position'>,
  ): number {
    if (this.is('the order is that of the sequence alone')) return a.position - b.position;
    const byId = a.generation - b.generation || a.place - b.place;
    return this.is('a cursor has no position') ? byId : byId || a.position - b.position;
  }
}

/** Returns the generation of the feed, which combines the epoch of the database with the timeline of its log. */
export function generationOf({ database }: FeedState): number {
  return database.epoch * 16 + database.timeline;
}
