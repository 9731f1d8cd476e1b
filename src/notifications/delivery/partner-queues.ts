import { PartnerQueue, type Attempt, type Trust } from './partner-queue.js';

/** The number of concurrent attempts to one partner that may also use the reserved slots. */
const GUARANTEED = 2;

/**
 * Shares the concurrent attempts (slots) of a worker fairly among partners.
 *
 * 1. No partner gets more than `perPartner` slots. Some slots are reserved for partners with hardly any running
 *    attempts.
 * 2. A partner that does not answer in time counts as hanging, until its next answer. An attempt to a hanging partner
 *    may start only while fewer attempts to hanging partners are running than a quarter of the number of slots.
 * 3. Running attempts to hanging partners use no slots. When many partners begin to hang at once, other partners wait
 *    only until the worker notices the hanging partners (partner-queue.ts). With the default of 64 slots and a wait
 *    time of 10 s, at most 640 attempts can hang at once.
 * 4. The partners that this worker has not tried yet get at most half of the slots, so that the other partners keep
 *    slots even if all untried partners hang. The newest untried partner is tried first.
 */
export class PartnerQueues<Item> {
  private readonly queues = new Map<string, PartnerQueue<Item>>();
  /** The queues that are ready to start an attempt, grouped by the state of their partners. */
  private readonly ready: Record<Trust, Set<PartnerQueue<Item>>> = {
    ANSWERS: new Set(),
    UNTRIED: new Set(),
    HANGS: new Set(),
  };
  /** The queues of partners to which an attempt is running. */
  private readonly busy = new Set<PartnerQueue<Item>>();
  private readonly held: Record<Trust, number> = { ANSWERS: 0, UNTRIED: 0, HANGS: 0 };
  private readonly reserve: number;
  private readonly quarter: number;

  /**
   * Creates the scheduler.
   * @param closed called with a queue whose partner is busy or paced; the queue must be enqueued again when an attempt
   * may start
   */
  constructor(
    private readonly slots: number,
    private readonly perPartner: number,
    private readonly closed: (queue: PartnerQueue<Item>) => void = () => undefined,
  ) {
    this.quarter = Math.max(1, Math.floor(slots / 4));
    this.reserve = Math.max(0, Math.min(Math.floor(slots / 4), slots - perPartner));
  }

  get inFlight(): number {
    return this.taken + this.held.HANGS;
  }

  /** The number of slots in use. Attempts to hanging partners use no slots. */
  private get taken(): number {
    return this.held.ANSWERS + this.held.UNTRIED;
  }

  all(): IterableIterator<PartnerQueue<Item>> {
    return this.queues.values();
  }

  of(id: string): PartnerQueue<Item> {
    let queue = this.queues.get(id);
    if (!queue) this.queues.set(id, (queue = new PartnerQueue(id, Math.min(this.perPartner, this.slots))));
    return queue;
  }

  /** Returns the partners whose queue is empty and that could get `count` notifications immediately. */
  readyFor(count: number): string[] {
    return [...this.all()].filter((queue) => queue.isReadyFor(count)).map((queue) => queue.id);
  }

  /** Removes the queue of a deleted partner, unless it is in use. */
  forget(id: string): void {
    const queue = this.queues.get(id);
    if (!queue?.isIdle) return;
    this.ready[queue.trust].delete(queue);
    this.queues.delete(id);
  }

  enqueue(queue: PartnerQueue<Item>): void {
    if (queue.waiting > 0) this.ready[queue.trust].add(queue);
  }

  /** Returns the next queue that may start an attempt; null if there is none. */
  next(): PartnerQueue<Item> | null {
    return this.nextOf('ANSWERS') ?? this.nextOf('UNTRIED') ?? this.nextOf('HANGS');
  }

  started(queue: PartnerQueue<Item>, now: number): Attempt {
    const attempt = { since: now };
    queue.started(attempt);
    queue.pace.use(now);
    this.held[queue.trust] += 1;
    this.busy.add(queue);
    return attempt;
  }

  /**
   * Records the end of an attempt.
   * @param answered whether the partner answered; null if the attempt does not show whether the partner answers
   */
  ended(queue: PartnerQueue<Item>, attempt: Attempt, answered: boolean | null, now: number): void {
    queue.ended(attempt);
    this.held[queue.trust] -= 1;
    if (queue.inFlight === 0) this.busy.delete(queue);
    if (answered === true) queue.answeredIn(now - attempt.since);
    if (answered === false || queue.isSilent(now)) this.trust(queue, 'HANGS');
    else if (answered === true) this.trust(queue, 'ANSWERS');
  }

  /**
   * Returns the number of probes to DOWN partners that may be sent now. Probes may remain unanswered, so all probes
   * together get only a quarter of the slots.
   */
  probeCapacity(probing: number): number {
    return Math.min(this.quarter - probing, this.slots - this.taken);
  }

  /**
   * Finds the queues with an attempt that has had no response for too long, and frees their slots for other partners.
   */
  check(now: number): void {
    for (const queue of this.busy) {
      if (!queue.isSilent(now)) continue;
      queue.open();
      this.trust(queue, 'HANGS');
    }
  }

  private trust(queue: PartnerQueue<Item>, trust: Trust): void {
    if (queue.trust === trust) return;
    this.held[queue.trust] -= queue.inFlight;
    this.held[trust] += queue.inFlight;
    if (this.ready[queue.trust].delete(queue)) this.ready[trust].add(queue);
    queue.trust = trust;
  }

  private nextOf(trust: Trust): PartnerQueue<Item> | null {
    // The limit is checked once for all queues: with thousands of queues, a check for each queue would cost more time
    // than an attempt.
    if (this.isFull(trust)) return null;
    const ready = this.ready[trust];
    const now = performance.now();
    let next: PartnerQueue<Item> | null = null;
    for (const queue of ready) {
      if (queue.waiting === 0) ready.delete(queue);
      else if (!queue.pace.isOpen(now)) {
        ready.delete(queue);
        this.closed(queue);
      } else if (!this.mayStart(queue)) continue;
      else if (trust === 'UNTRIED' && queue.inFlight === 0) next = queue;
      else next ??= queue;
      // Of the partners that were never tried, the latest is taken first, from the end of the set. All other queues are
      // taken in turn, from the beginning of their set.
      if (next !== null && trust !== 'UNTRIED') break;
    }
    if (next === null) return null;
    // The queue that was just served moves behind the other queues that are ready.
    ready.delete(next);
    ready.add(next);
    return next;
  }

  /** Returns whether all slots for partners in this state are in use. */
  private isFull(trust: Trust): boolean {
    if (trust === 'HANGS') return this.held.HANGS >= this.quarter;
    if (this.taken >= this.slots) return true;
    return trust === 'UNTRIED' && this.held.UNTRIED >= Math.max(1, Math.floor(this.slots / 2));
  }

  private mayStart(queue: PartnerQueue<Item>): boolean {
    if (queue.mode === 'HALTED' || queue.inFlight + 1 > queue.limit) return false;
    return queue.trust === 'HANGS' || queue.inFlight < GUARANTEED || this.taken < this.slots - this.reserve;
  }
}
