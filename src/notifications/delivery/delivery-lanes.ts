/** At least so many attempts of each partner may run whatever the others do. */
const GUARANTEED = 2;
const LARGEST_BATCH = 512;
/** To a worker that has not sent to a partner before, a change of its health that long ago is no news. */
const RECENT_MS = 10_000;

/** What a worker holds for one partner: claimed items in the order of their claim, and how many attempts may run at once. */
export class Lane<Item> {
  private items: Item[] = [];
  private head = 0;
  inFlight = 0;
  /** When the partner's health last changed, as far as is known here. */
  private changedAt: number | null = null;
  /** There may be more to claim. */
  hungry = true;
  /** A claim found nothing while outcomes were outstanding: one of them may have been in the way. */
  stalled = false;
  /** Nothing is claimed or started while an outcome that stops the partner is being recorded. */
  halted = false;
  /** How many items to hold at most. */
  batch: number;
  /** The most attempts at once; shrinks when the partner does not keep up, grows with every success. */
  limit: number;

  constructor(
    readonly id: string,
    private readonly most: number,
  ) {
    this.limit = most;
    this.batch = 2 * most;
  }

  get waiting(): number {
    return this.items.length - this.head;
  }

  /** How many to claim now; nothing while half of what may be held is still there. */
  get room(): number {
    return this.hungry && !this.halted && this.waiting <= this.batch / 2 ? this.batch - this.waiting : 0;
  }

  /** Nothing else is to be sent before, and so many attempts more may run. */
  isReadyFor(count: number): boolean {
    return !this.hungry && !this.halted && this.waiting === 0 && this.inFlight + count <= this.limit;
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

  /** Takes in what a claim for `asked` items brought; a claim that was served in full asks for more the next time. */
  fill(items: Item[], asked: number): void {
    this.items = this.head === 0 ? this.items : this.items.slice(this.head);
    this.head = 0;
    for (const item of items) this.items.push(item);
    if (items.length < asked) return;
    this.hungry = true;
    this.batch = Math.min(this.batch * 2, LARGEST_BATCH);
  }

  /** Takes everything out that has not been started. */
  empty(): Item[] {
    const items = this.items.slice(this.head);
    this.items = [];
    this.head = 0;
    this.batch = 2 * this.most;
    return items;
  }

  succeeded(): void {
    if (this.limit < this.most) this.limit += 1;
  }

  overloaded(): void {
    this.limit = Math.max(1, Math.floor(this.limit / 2));
  }

  /** A partner that has come back gets one attempt at a time, doubling with every round of successes. */
  partnerChangedAt(at: number | null, now: number): void {
    if (this.changedAt === at) return;
    if (at !== null && (this.changedAt !== null || now - at < RECENT_MS)) this.limit = 1;
    this.changedAt = at;
  }
}

/**
 * The slots of a worker, shared between partners: no partner has more than `perPartner`, and a part of all slots is kept
 * for partners with hardly any attempt running, so that a few that hang do not take everything.
 */
export class Lanes<Item> {
  private readonly lanes = new Map<string, Lane<Item>>();
  /** Lanes with something to start, the one whose turn it is first. */
  private readonly ready = new Set<Lane<Item>>();
  private readonly reserve: number;
  inFlight = 0;

  constructor(
    private readonly slots: number,
    private readonly perPartner: number,
  ) {
    this.reserve = Math.max(0, Math.min(Math.floor(slots / 4), slots - perPartner));
  }

  all(): IterableIterator<Lane<Item>> {
    return this.lanes.values();
  }

  of(id: string): Lane<Item> {
    let lane = this.lanes.get(id);
    if (!lane) this.lanes.set(id, (lane = new Lane(id, Math.min(this.perPartner, this.slots))));
    return lane;
  }

  find(id: string): Lane<Item> | undefined {
    return this.lanes.get(id);
  }

  enqueue(lane: Lane<Item>): void {
    if (lane.waiting > 0) this.ready.add(lane);
  }

  mayStart(lane: Lane<Item>): boolean {
    if (lane.halted || lane.inFlight >= lane.limit) return false;
    return this.inFlight < this.slots - (lane.inFlight < GUARANTEED ? 0 : this.reserve);
  }

  /** The next lane that may start something, in turn. */
  next(): Lane<Item> | null {
    for (const lane of this.ready) {
      if (lane.waiting === 0) {
        this.ready.delete(lane);
        continue;
      }
      if (!this.mayStart(lane)) continue;
      this.ready.delete(lane);
      this.ready.add(lane);
      return lane;
    }
    return null;
  }

  started(lane: Lane<Item>): void {
    lane.inFlight += 1;
    this.inFlight += 1;
  }

  ended(lane: Lane<Item>): void {
    lane.inFlight -= 1;
    this.inFlight -= 1;
  }
}
