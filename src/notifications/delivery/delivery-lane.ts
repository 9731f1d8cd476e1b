import { LanePace } from './lane-pace.js';

const LARGEST_BATCH = 512;
/** An older change of health is no news to a worker that has not sent to the partner before. */
const RECENT_MS = 10_000;
/** For a paced partner, this many seconds' worth of notifications are claimed at once. */
export const PACED_S = 4;
/** The growth of the concurrency limit per success, until a partner has shown that it handles the maximum. */
const FIRST_GROWTH = 0.5;
/**
 * A partner counts as hanging when an attempt has no answer for this time and for this multiple of its typical response
 * time.
 */
const SILENT_MS = 1_000;
const SILENT_TIMES = 3;

/**
 * The state of a partner's queue. `IDLE`: the last claim found everything. `ASKING`: there may be more to claim.
 * `CLAIMING`: a claim is running. `STALLED`: a claim found nothing while outcomes were unrecorded, one of which may
 * have blocked it. `HALTED`: an outcome that stops the partner is being recorded; until then nothing is claimed or
 * started.
 */
export type LaneMode = 'IDLE' | 'ASKING' | 'CLAIMING' | 'STALLED' | 'HALTED';

const MAY_FOLLOW: Record<LaneMode, readonly LaneMode[]> = {
  IDLE: ['ASKING', 'HALTED'],
  ASKING: ['CLAIMING', 'HALTED'],
  CLAIMING: ['IDLE', 'ASKING', 'STALLED', 'HALTED'],
  STALLED: ['ASKING', 'HALTED'],
  HALTED: ['ASKING'],
};

/** The last result that this worker got from a partner: an answer, none, or no attempt yet. */
export type Trust = 'ANSWERS' | 'UNTRIED' | 'HANGS';

/** A running attempt and its start on the worker's clock. */
export interface Attempt {
  readonly since: number;
}

/** The queue of one partner in a worker: claimed items in claim order, with a concurrency limit. */
export class Lane<Item> {
  private items: Item[] = [];
  private head = 0;
  private current: LaneMode = 'ASKING';
  private readonly attempts = new Set<Attempt>();
  /** The last known time at which the partner's health changed. */
  private changedAt: number | null = null;
  /** The typical response time. */
  private typicalMs = 0;
  trust: Trust = 'UNTRIED';
  readonly pace = new LanePace();
  /** Items claimed before this time, on the worker's clock, were claimed under old settings. */
  staleBefore = -Infinity;
  /** Answers to items claimed before this time come from an address that the partner has left. */
  movedAt = -Infinity;
  /** The maximum number of queued items. */
  batch: number;
  /**
   * The concurrency limit (its integer part). It shrinks when the partner does not keep up, and grows with every
   * success. It starts at 1, so that a slow partner gets only a few requests before it answers "busy".
   */
  limit = 1;
  private isProven = false;
  /** Whether the limit is low only because the partner is new to this worker. */
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

  /** The number of items to claim now; zero while the queue is at least half full. */
  get room(): number {
    const held = Math.min(this.batch, Math.ceil(PACED_S * this.pace.rate));
    return this.current === 'ASKING' && this.waiting <= held / 2 ? held - this.waiting : 0;
  }

  /** Returns whether nothing else is queued, and this many more attempts may run. */
  isReadyFor(count: number): boolean {
    const asked = this.current === 'IDLE' || this.current === 'STALLED';
    return asked && !this.pace.isPaced && this.waiting === 0 && this.inFlight + count <= this.limit;
  }

  /** Whether the queue is empty and no claim is running. */
  get isIdle(): boolean {
    return this.waiting + this.inFlight === 0 && this.current !== 'CLAIMING' && this.current !== 'HALTED';
  }

  /** Notes that there may be items to claim. */
  wake(): void {
    if (this.current !== 'HALTED') this.become('ASKING');
  }

  claiming(): void {
    this.become('CLAIMING');
  }

  /** Stops the queue before an outcome that stops the partner is recorded. */
  halt(): void {
    this.become('HALTED');
  }

  /** Restarts the queue after that outcome was recorded. */
  resume(): void {
    if (this.current === 'HALTED') this.become('ASKING');
  }

  /** Retries a claim that unrecorded outcomes may have blocked. */
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
   * Adds the items of a claim. When the claim for `asked` items was fully served, the next claim is larger.
   * @param outstanding whether unrecorded outcomes may have blocked the claim
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

  /** Removes and returns all items that have not been started. */
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

  /**
   * Raises the limit for a slow partner that has never answered "busy": waiting for its answers would teach nothing.
   */
  open(): void {
    if (this.isLearning && !this.pace.isPaced) this.limit = this.most;
  }

  /** Shrinks the limit, because more concurrency would only pile up requests. */
  overloaded(): void {
    this.isLearning = false;
    this.limit = Math.max(1, Math.floor(this.limit / 2));
    this.batch = Math.min(this.batch, 2 * this.limit);
  }

  answeredIn(ms: number): void {
    this.typicalMs = this.typicalMs === 0 ? ms : 0.8 * this.typicalMs + 0.2 * ms;
  }

  /** Returns whether an attempt has been without an answer for too long. */
  isSilent(now: number): boolean {
    const [oldest] = this.attempts;
    return oldest !== undefined && now - oldest.since > Math.max(SILENT_MS, SILENT_TIMES * this.typicalMs);
  }

  /**
   * Resets the limit when the partner's health has changed: a recovered partner starts with one attempt, and the limit
   * doubles with every round of successes.
   */
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
