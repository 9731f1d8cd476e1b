import { PartnerPace } from './partner-pace.js';

const LARGEST_BATCH = 512;
/**
 * The maximum age, in milliseconds, of the first change in a partner's health that a worker learns of. An older change
 * is ignored.
 */
const RECENT_MS = 10_000;
/** The number of seconds for which notifications to a partner with a limited request rate are claimed in advance. */
export const PACED_S = 4;
/**
 * The amount by which each success raises the partner's concurrency limit, until the partner has once handled the
 * maximum concurrency.
 */
const FIRST_GROWTH = 0.5;
/**
 * A partner counts as hanging if one of its attempts has had no response for longer than SILENT_MS milliseconds, and
 * for longer than SILENT_TIMES times the partner's typical response time.
 */
const SILENT_MS = 1_000;
const SILENT_TIMES = 3;

/**
 * The state of a partner's queue in this worker. `IDLE`: the last claim took all due notifications. `ASKING`: there may
 * be more notifications to claim. `CLAIMING`: a claim is running. `STALLED`: a claim found nothing, perhaps because an
 * unrecorded outcome blocked the due notifications. `HALTED`: an outcome that stops the partner is being recorded, and
 * nothing is claimed or started until it is recorded.
 */
export type QueueMode = 'IDLE' | 'ASKING' | 'CLAIMING' | 'STALLED' | 'HALTED';

const MAY_FOLLOW: Record<QueueMode, readonly QueueMode[]> = {
  IDLE: ['ASKING', 'HALTED'],
  ASKING: ['CLAIMING', 'HALTED'],
  CLAIMING: ['IDLE', 'ASKING', 'STALLED', 'HALTED'],
  STALLED: ['ASKING', 'HALTED'],
  HALTED: ['ASKING'],
};

/**
 * The latest experience of this worker with a partner. `ANSWERS`: the partner answers. `UNTRIED`: no attempt has ended
 * yet. `HANGS`: the partner does not answer in time.
 */
export type Trust = 'ANSWERS' | 'UNTRIED' | 'HANGS';

/** A running attempt, with the time of its start on the worker's clock. */
export interface Attempt {
  readonly since: number;
}

/**
 * A worker's queue of claimed notifications (items) for one partner, in the order of the claims, with a concurrency
 * limit.
 */
export class PartnerQueue<Item> {
  private items: Item[] = [];
  private head = 0;
  private current: QueueMode = 'ASKING';
  private readonly attempts = new Set<Attempt>();
  /**
   * The time of the last change in the partner's health that this worker has learned of; null if there was no change.
   */
  private changedAt: number | null = null;
  /** The typical response time of the partner, in milliseconds. */
  private typicalMs = 0;
  trust: Trust = 'UNTRIED';
  readonly pace = new PartnerPace();
  /** Items that were claimed before this time, on the worker's clock, were claimed under outdated settings. */
  staleBefore = -Infinity;
  /**
   * Responses to notifications that were claimed before this time come from an address that the partner no longer uses.
   */
  movedAt = -Infinity;
  /** The maximum number of claimed notifications in the partner's queue. */
  batch: number;
  /**
   * The maximum number of concurrent attempts to the partner. A fraction of the number is ignored. The limit grows with
   * every success, and shrinks when the partner does not keep up. It starts at 1, so that a slow partner gets few
   * requests before it answers "busy".
   */
  limit = 1;
  private isProven = false;
  /** Whether the concurrency limit may be low only because the partner is new to this worker. */
  private isLearning = true;

  constructor(
    readonly id: string,
    private readonly most: number,
  ) {
    this.batch = 2 * most;
  }

  get mode(): QueueMode {
    return this.current;
  }

  get inFlight(): number {
    return this.attempts.size;
  }

  get waiting(): number {
    return this.items.length - this.head;
  }

  /** The number of notifications to claim now: 0 if no claim is due, or while the queue is more than half full. */
  get capacity(): number {
    const held = Math.min(this.batch, Math.ceil(PACED_S * this.pace.rate));
    return this.current === 'ASKING' && this.waiting <= held / 2 ? held - this.waiting : 0;
  }

  /** Returns true if no attempt is waiting in the queue, and `count` more attempts may run at once. */
  isReadyFor(count: number): boolean {
    const asked = this.current === 'IDLE' || this.current === 'STALLED';
    return asked && !this.pace.isPaced && this.waiting === 0 && this.inFlight + count <= this.limit;
  }

  /** Whether the queue is empty, no attempt runs and no claim is running. */
  get isIdle(): boolean {
    return this.waiting + this.inFlight === 0 && this.current !== 'CLAIMING' && this.current !== 'HALTED';
  }

  /** Records that there may be notifications to claim for the partner. */
  wake(): void {
    if (this.current !== 'HALTED') this.become('ASKING');
  }

  claiming(): void {
    this.become('CLAIMING');
  }

  /** Records that the subscription was changed, or that its new address was verified. */
  changed(isNewAddress: boolean): void {
    this.staleBefore = performance.now();
    if (isNewAddress) this.movedAt = this.staleBefore;
  }

  /** Halts the queue, before an outcome that stops the partner is recorded. */
  halt(): void {
    this.become('HALTED');
  }

  /** Resumes the halted queue, after the outcome that halted it was recorded. */
  resume(): void {
    if (this.current === 'HALTED') this.become('ASKING');
  }

  /**
   * Allows a new claim, after a claim found nothing, perhaps because running attempts whose outcome was not yet
   * recorded blocked it.
   */
  retryClaim(): void {
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
   * Adds the notifications of a claim to the queue. If the claim found as many notifications as it asked for, the next
   * claim asks for more.
   *
   * @param asked the number of notifications that the claim asked for
   * @param outstanding whether attempts whose outcome was not yet recorded may have blocked the claim
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

  /** Removes and returns the queued notifications, whose attempts have not started. */
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
   * Raises the concurrency limit to the maximum for a slow partner that has never answered "busy", because its
   * responses come too late to raise the limit step by step.
   */
  open(): void {
    if (this.isLearning && !this.pace.isPaced) this.limit = this.most;
  }

  /**
   * Halves the concurrency limit of a partner that does not keep up, because more concurrency would only pile up
   * requests.
   */
  overloaded(): void {
    this.isLearning = false;
    this.limit = Math.max(1, Math.floor(this.limit / 2));
    this.batch = Math.min(this.batch, 2 * this.limit);
  }

  answeredIn(ms: number): void {
    this.typicalMs = this.typicalMs === 0 ? ms : 0.8 * this.typicalMs + 0.2 * ms;
  }

  /** Returns whether a running attempt has had no response for too long. */
  isSilent(now: number): boolean {
    const [oldest] = this.attempts;
    return oldest !== undefined && now - oldest.since > Math.max(SILENT_MS, SILENT_TIMES * this.typicalMs);
  }

  /**
   * Resets the concurrency limit after a change in the partner's health. A recovered partner starts with one attempt at
   * a time.
   */
  partnerChangedAt(at: number | null, now: number): void {
    if (this.changedAt === at) return;
    if (at !== null && (this.changedAt !== null || now - at < RECENT_MS)) {
      this.limit = 1;
      this.isLearning = false;
    }
    this.changedAt = at;
  }

  private become(mode: QueueMode): void {
    if (mode === this.current) return;
    if (!MAY_FOLLOW[this.current].includes(mode)) throw new Error(`A queue that is ${this.current} cannot be ${mode}.`);
    this.current = mode;
  }
}
