import { Lane, type Attempt, type Trust } from './delivery-lane.js';

/** At least so many attempts of each partner that answers may run whatever the others do. */
const GUARANTEED = 2;

/**
 * The slots of a worker, shared between partners.
 *
 * 1. No partner has more than `perPartner`, and a part of all slots is kept for partners with hardly any attempt running.
 * 2. Partners that hang may start attempts while they have less than a quarter of the slots, all together. A partner that does
 *    not answer in time is one of them at once, and is none any more with its next answer.
 * 3. Their attempts under way take no slot from the others: however many begin to hang at once, those that answer wait
 *    no longer than until that is noticed (delivery-lane.ts). With the default of 64 slots and a wait time of 10 s no more
 *    than 640 can hang at once, whatever the number of partners.
 * 4. Partners that this worker has not tried yet have half of the slots: however many of them turn out to hang, some are
 *    left for the next. The latest comer is tried first.
 */
export class Lanes<Item> {
  private readonly lanes = new Map<string, Lane<Item>>();
  /** Queues with something to start, by the standing of their partners; the next in turn is first. */
  private readonly ready: Record<Trust, Set<Lane<Item>>> = {
    ANSWERS: new Set(),
    UNTRIED: new Set(),
    HANGS: new Set(),
  };
  /** Queues with attempts under way. */
  private readonly busy = new Set<Lane<Item>>();
  private readonly held: Record<Trust, number> = { ANSWERS: 0, UNTRIED: 0, HANGS: 0 };
  private readonly reserve: number;
  private readonly quarter: number;

  /** @param closed called with a queue whose partner is busy or has a pace: it is enqueued again when that lets something through */
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

  /** Slots; attempts of partners that hang take none. */
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

  /** The partners to whom so many notifications could be sent at once, and for whom nothing else waits. */
  readyFor(count: number): string[] {
    return [...this.all()].filter((lane) => lane.isReadyFor(count)).map((lane) => lane.id);
  }

  /** The partner is gone, and nothing of it is left here. */
  forget(id: string): void {
    const lane = this.lanes.get(id);
    if (!lane?.isIdle) return;
    this.ready[lane.trust].delete(lane);
    this.lanes.delete(id);
  }

  enqueue(lane: Lane<Item>): void {
    if (lane.waiting > 0) this.ready[lane.trust].add(lane);
  }

  /** The next queue that may start something. */
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

  /** @param answered whether the partner did; null when the attempt says nothing of that */
  ended(lane: Lane<Item>, attempt: Attempt, answered: boolean | null, now: number): void {
    lane.ended(attempt);
    this.held[lane.trust] -= 1;
    if (lane.inFlight === 0) this.busy.delete(lane);
    if (answered === true) lane.answeredIn(now - attempt.since);
    if (answered === false || lane.isSilent(now)) this.trust(lane, 'HANGS');
    else if (answered === true) this.trust(lane, 'ANSWERS');
  }

  /** How many probes of partners that are DOWN may be sent now: they may hang as well, and have a quarter of their own. */
  roomForProbes(probing: number): number {
    return Math.min(this.quarter - probing, this.slots - this.taken);
  }

  /** Looks who has been silent for too long: they take no slots any more, so that others may start. */
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
    // Not for each queue: with thousands of them that would cost more than the attempt.
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
      // Only of those not tried yet is it the last.
      if (next !== null && trust !== 'UNTRIED') break;
    }
    if (next === null) return null;
    // Its turn comes again after the others'.
    ready.delete(next);
    ready.add(next);
    return next;
  }

  /** Whether none of these partners may start anything, whatever it has under way. */
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
