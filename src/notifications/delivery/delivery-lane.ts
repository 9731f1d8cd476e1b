import { LanePace } from './lane-pace.js';

const LARGEST_BATCH = 512;
/** To a worker that has not sent to a partner before, a change of its health that long ago is no news. */
const RECENT_MS = 10_000;
/** Of a partner with a pace, what can be sent in so many seconds is held. */
export const PACED_S = 4;
/** By how much each success lets the attempts at once grow until a partner has shown that it takes as many as it may get. */
const FIRST_GROWTH = 0.5;
/** An attempt without an answer for so long, and for so many times what the partner mostly takes, makes it one that hangs. */
const SILENT_MS = 1_000;
const SILENT_TIMES = 3;

/**
 * The state of a partner's queue towards the database:
 * `IDLE` a claim has found all there was; `ASKING` there may be more; `CLAIMING` a claim is under way; `STALLED` a claim
 * found nothing while outcomes were outstanding, one of which may have been in the way; `HALTED` an outcome that stops the
 * partner is being recorded, and nothing is claimed or started before that is done.
 */
export type LaneMode = 'IDLE' | 'ASKING' | 'CLAIMING' | 'STALLED' | 'HALTED';

const MAY_FOLLOW: Record<LaneMode, readonly LaneMode[]> = {
  IDLE: ['ASKING', 'HALTED'],
  ASKING: ['CLAIMING', 'HALTED'],
  CLAIMING: ['IDLE', 'ASKING', 'STALLED', 'HALTED'],
  STALLED: ['ASKING', 'HALTED'],
  HALTED: ['ASKING'],
};

/** The answers that this worker has seen of a partner: its last attempt was answered, or not, or there was none yet. */
export type Trust = 'ANSWERS' | 'UNTRIED' | 'HANGS';

/** An attempt under way, since when on the clock of the worker. */
export interface Attempt {
  readonly since: number;
}

/** The queue of one partner in a worker: claimed items in the order of their claim, and how many attempts may run at once. */
export class Lane<Item> {
  private items: Item[] = [];
  private head = 0;
  private current: LaneMode = 'ASKING';
  private readonly attempts = new Set<Attempt>();
  /** When the partner's health last changed, as far as is known here. */
  private changedAt: number | null = null;
  /** How long an answer mostly takes. */
  private typicalMs = 0;
  trust: Trust = 'UNTRIED';
  readonly pace = new LanePace();
  /** Items that were claimed before this moment, on the clock of the worker, were claimed under other settings. */
  staleBefore = -Infinity;
  /** How many items to hold at most. */
  batch: number;
  /**
   * The most attempts at once, by its whole part; shrinks when the partner does not keep up, grows with every success. The first
   * comes alone: of a partner that takes a few a second, hardly more than those few are sent before it says so.
   */
  limit = 1;
  private isProven = false;
  /** Whether the limit is low only because little is known of the partner. */
  private isLearning = true;

  constructor(
    readonly id: string,
    private readonly most: number,
  ) {
    this.batch = 2 * most;
  }

  get mode(): LaneMode {
    return this.current;
  }

  get inFlight(): number {
    return this.attempts.size;
  }

  get waiting(): number {
    return this.items.length - this.head;
  }

  /** How many to claim now; nothing while half of what may be held is still there. */
  get room(): number {
    const held = Math.min(this.batch, Math.ceil(PACED_S * this.pace.rate));
    return this.current === 'ASKING' && this.waiting <= held / 2 ? held - this.waiting : 0;
  }

  /** Nothing else is to be sent before, and so many attempts more may run. */
  isReadyFor(count: number): boolean {
    const asked = this.current === 'IDLE' || this.current === 'STALLED';
    return asked && !this.pace.isPaced && this.waiting === 0 && this.inFlight + count <= this.limit;
  }

  /** Nothing is here, and nothing is about to come. */
  get isIdle(): boolean {
    return this.waiting + this.inFlight === 0 && this.current !== 'CLAIMING' && this.current !== 'HALTED';
  }

  /** There may be something to claim. */
  wake(): void {
    if (this.current !== 'HALTED') this.become('ASKING');
  }

  claiming(): void {
    this.become('CLAIMING');
  }

  /** An outcome that stops the partner is about to be recorded. */
  halt(): void {
    this.become('HALTED');
  }

  /** An outcome that stopped the partner was recorded. */
  resume(): void {
    if (this.current === 'HALTED') this.become('ASKING');
  }

  /** Outcomes were recorded: what was in the way of a claim may be gone. */
  unstall(): void {
    if (this.current === 'STALLED') this.become('ASKING');
  }

  first(): Item | undefined {
    return this.items[this.head];
  }

  take(): Item | undefined {
    const item = this.items[this.head];
    if (item === undefined) return undefined;
    this.head += 1;
    if (this.head === this.items.length) {
      this.items = [];
      this.head = 0;
    }
    return item;
  }

  /**
   * Takes in what a claim for `asked` items brought; one that was served in full asks for more the next time.
   * @param outstanding whether outcomes are outstanding that may have been in its way
   */
  fill(items: Item[], asked: number, outstanding: boolean): void {
    this.items = this.head === 0 ? this.items : this.items.slice(this.head);
    this.head = 0;
    for (const item of items) this.items.push(item);
    if (items.length >= asked) {
      this.batch = Math.min(this.batch * 2, LARGEST_BATCH);
      this.wake();
    } else if (this.current === 'CLAIMING') {
      this.become(items.length === 0 && outstanding ? 'STALLED' : 'IDLE');
    }
  }

  /** Takes everything out that has not been started. */
  empty(): Item[] {
    const items = this.items.slice(this.head);
    this.items = [];
    this.head = 0;
    this.batch = 2 * this.most;
    return items;
  }

  started(attempt: Attempt): void {
    this.attempts.add(attempt);
  }

  ended(attempt: Attempt): void {
    this.attempts.delete(attempt);
  }

  succeeded(): void {
    if (this.limit < this.most) this.limit = Math.min(this.most, this.limit + (this.isProven ? 1 : FIRST_GROWTH));
    else this.isProven = true;
  }

  /** The partner takes its time and has never said that it is busy: waiting for its answers would teach nothing. */
  open(): void {
    if (this.isLearning && !this.pace.isPaced) this.limit = this.most;
  }

  /** More attempts at once would only pile up. */
  overloaded(): void {
    this.isLearning = false;
    this.limit = Math.max(1, Math.floor(this.limit / 2));
    this.batch = Math.min(this.batch, 2 * this.limit);
  }

  answeredIn(ms: number): void {
    this.typicalMs = this.typicalMs === 0 ? ms : 0.8 * this.typicalMs + 0.2 * ms;
  }

  /** An attempt has been without an answer for too long. */
  isSilent(now: number): boolean {
    const [oldest] = this.attempts;
    return oldest !== undefined && now - oldest.since > Math.max(SILENT_MS, SILENT_TIMES * this.typicalMs);
  }

  /** A partner that has come back gets one attempt at a time, doubling with every round of successes. */
  partnerChangedAt(at: number | null, now: number): void {
    if (this.changedAt === at) return;
    if (at !== null && (this.changedAt !== null || now - at < RECENT_MS)) {
      this.limit = 1;
      this.isLearning = false;
    }
    this.changedAt = at;
  }

  private become(mode: LaneMode): void {
    if (mode === this.current) return;
    if (!MAY_FOLLOW[this.current].includes(mode)) throw new Error(`A lane that is ${this.current} cannot be ${mode}.`);
    this.current = mode;
  }
}
