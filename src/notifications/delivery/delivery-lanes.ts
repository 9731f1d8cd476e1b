import { Lane, type Attempt, type Trust } from './delivery-lane.js';

/** The number of attempts that every answering partner may run, however many slots others use. */
const GUARANTEED = 2;

/**
 * Shares the slots of a worker fairly among partners.
 *
 * 1. No partner gets more than `perPartner`. Some slots are reserved for partners with hardly any running attempt.
 * 2. All hanging partners together may start attempts while they use less than a quarter of the slots. A partner that
 *    does not answer in time counts as hanging at once, until its next answer.
 * 3. Running attempts of hanging partners use none of the others' slots. When many partners begin to hang at once, the
 *    others wait only until that is noticed (delivery-lane.ts). With the default of 64 slots and a wait time of 10 s,
 *    at most 640 attempts can hang at once.
 * 4. Partners that this worker has not tried yet get half of the slots, so that hanging newcomers leave slots for
 *    others. The latest newcomer is tried first.
 */
export class Lanes<Item> {
  private readonly lanes = new Map<string, Lane<Item>>();
  /** The queues that are ready to start an attempt, by their partners' state. The first one is the next in turn. */
  private readonly ready: Record<Trust, Set<Lane<Item>>> = {
    ANSWERS: new Set(),
    UNTRIED: new Set(),
    HANGS: new Set(),
  };
  /** The queues with running attempts. */
  private readonly busy = new Set<Lane<Item>>();
  private readonly held: Record<Trust, number> = { ANSWERS: 0, UNTRIED: 0, HANGS: 0 };
  private readonly reserve: number;
  private readonly quarter: number;

  /**
   * Creates the scheduler.
   * @param closed called with a queue whose partner is busy or paced; the queue must be enqueued again when an attempt
   * is allowed
   */
  constructor(
    private readonly slots: number,
    private readonly perPartner: number,
    private readonly closed: (lane: Lane<Item>) => void = () => undefined,
  ) {
    this.quarter = Math.max(1, Math.floor(slots / 4));
    this.reserve = Math.max(0, Math.min(Math.floor(slots / 4), slots - perPartner));
  }

  get inFlight(): number {
    return this.taken + this.held.HANGS;
  }

  /** The number of slots in use. Attempts of hanging partners use none. */
  private get taken(): number {
    return this.held.ANSWERS + this.held.UNTRIED;
  }

  all(): IterableIterator<Lane<Item>> {
    return this.lanes.values();
  }

  of(id: string): Lane<Item> {
    let lane = this.lanes.get(id);
    if (!lane) this.lanes.set(id, (lane = new Lane(id, Math.min(this.perPartner, this.slots))));
    return lane;
  }

  /** Returns the partners whose queue is empty and that could get this many notifications at once. */
  readyFor(count: number): string[] {
    return [...this.all()].filter((lane) => lane.isReadyFor(count)).map((lane) => lane.id);
  }

  /** Removes the queue of a deleted partner, unless it is in use. */
  forget(id: string): void {
    const lane = this.lanes.get(id);
    if (!lane?.isIdle) return;
    this.ready[lane.trust].delete(lane);
    this.lanes.delete(id);
  }

  enqueue(lane: Lane<Item>): void {
    if (lane.waiting > 0) this.ready[lane.trust].add(lane);
  }

  /** Returns the next queue that may start an attempt; null if there is none. */
  next(): Lane<Item> | null {
    return this.nextOf('ANSWERS') ?? this.nextOf('UNTRIED') ?? this.nextOf('HANGS');
  }

  started(lane: Lane<Item>, now: number): Attempt {
    const attempt = { since: now };
    lane.started(attempt);
    lane.pace.use();
    this.held[lane.trust] += 1;
    this.busy.add(lane);
    return attempt;
  }

  /**
   * Records the end of an attempt.
   * @param answered whether the partner answered; null if the attempt does not show that
   */
  ended(lane: Lane<Item>, attempt: Attempt, answered: boolean | null, now: number): void {
    lane.ended(attempt);
    this.held[lane.trust] -= 1;
    if (lane.inFlight === 0) this.busy.delete(lane);
    if (answered === true) lane.answeredIn(now - attempt.since);
    if (answered === false || lane.isSilent(now)) this.trust(lane, 'HANGS');
    else if (answered === true) this.trust(lane, 'ANSWERS');
  }

  /**
   * Returns the number of probes to DOWN partners that may be sent now. Probes may hang as well, and have their own
   * quarter of the slots.
   */
  roomForProbes(probing: number): number {
    return Math.min(this.quarter - probing, this.slots - this.taken);
  }

  /**
   * Finds the queues with an attempt that has been without an answer for too long, and frees their slots for other
   * partners.
   */
  look(now: number): void {
    for (const lane of this.busy) {
      if (!lane.isSilent(now)) continue;
      lane.open();
      this.trust(lane, 'HANGS');
    }
  }

  private trust(lane: Lane<Item>, trust: Trust): void {
    if (lane.trust === trust) return;
    this.held[lane.trust] -= lane.inFlight;
    this.held[trust] += lane.inFlight;
    if (this.ready[lane.trust].delete(lane)) this.ready[trust].add(lane);
    lane.trust = trust;
  }

  private nextOf(trust: Trust): Lane<Item> | null {
    // The limit is checked once for all queues: with thousands of queues, a check for each would cost more than an
    // attempt.
    if (this.isFull(trust)) return null;
    const ready = this.ready[trust];
    const now = performance.now();
    let next: Lane<Item> | null = null;
    for (const lane of ready) {
      if (lane.waiting === 0) ready.delete(lane);
      else if (!lane.pace.isOpen(now)) {
        ready.delete(lane);
        this.closed(lane);
      } else if (!this.mayStart(lane)) continue;
      else if (trust === 'UNTRIED' && lane.inFlight === 0) next = lane;
      else next ??= lane;
      // Only the queues of untried partners are taken from the end.
      if (next !== null && trust !== 'UNTRIED') break;
    }
    if (next === null) return null;
    // The chosen queue moves behind the others.
    ready.delete(next);
    ready.add(next);
    return next;
  }

  /** Returns whether the slots allow no further attempt to partners in this state. */
  private isFull(trust: Trust): boolean {
    if (trust === 'HANGS') return this.held.HANGS >= this.quarter;
    if (this.taken >= this.slots) return true;
    return trust === 'UNTRIED' && this.held.UNTRIED >= Math.max(1, Math.floor(this.slots / 2));
  }

  private mayStart(lane: Lane<Item>): boolean {
    if (lane.mode === 'HALTED' || lane.inFlight + 1 > lane.limit) return false;
    return lane.trust === 'HANGS' || lane.inFlight < GUARANTEED || this.taken < this.slots - this.reserve;
  }
}
