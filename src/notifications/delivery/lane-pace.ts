/** A moment that was not used in time is lost: those of a while would make a burst. */
const LOST_MS = 300;
const BUCKET_MS = 100;
const BUCKETS = 10;

/** Holds the pace of one partner in a worker: whether it has one, and the moments at which it may be sent something. */
export class LanePace {
  /** The partner has a pace: nothing is sent without one of the `moments`. */
  isPaced = false;
  /** How many a second, where that is known. */
  rate = Infinity;
  /** Nothing is sent before, on the clock of the worker. */
  wallUntil = -Infinity;
  private moments: number[] = [];
  /** Good answers, by tenths of the last second. */
  private readonly good = new Int32Array(BUCKETS);
  private bucket = 0;

  /** Whether something may be sent now. */
  isOpen(now: number): boolean {
    if (!this.isPaced) return true;
    while (this.moments.length > 0 && this.moments[0] < now - LOST_MS) this.moments.shift();
    return now >= this.wallUntil && this.moments.length > 0 && this.moments[0] <= now;
  }

  /** When to look again; null: the moments are used up, and others are to be asked for. */
  opensAt(now: number): number | null {
    if (now < this.wallUntil) return this.wallUntil;
    return this.moments.length > 0 ? this.moments[0] : null;
  }

  /** Something is sent. */
  use(): void {
    if (this.isPaced) this.moments.shift();
  }

  /** The partner has a pace of so many requests a second. */
  bound(rate: number): void {
    this.isPaced = true;
    this.rate = rate;
  }

  /** So many requests may be sent from then on, at that rate. */
  allow(from: number, requests: number, rate: number): void {
    this.bound(rate);
    this.moments = Array.from({ length: requests }, (_, index) => from + (index * 1000) / rate);
  }

  /** The partner is busy; what was allowed is not any more. */
  close(until: number): void {
    this.isPaced = true;
    this.moments = [];
    this.wallUntil = Math.max(this.wallUntil, until);
  }

  /** The wall may be over, and the database says. False when there was none. */
  dropWall(): boolean {
    const stood = this.wallUntil !== -Infinity;
    this.wallUntil = -Infinity;
    return stood;
  }

  /** As far as is known, the partner takes as much as it answers. */
  unbound(): void {
    this.isPaced = false;
    this.rate = Infinity;
    this.moments = [];
  }

  answeredWell(now: number): void {
    this.forget(now);
    this.good[this.bucket % BUCKETS] += 1;
  }

  /** How many good answers there were in the last second. */
  goodAnswers(now: number): number {
    this.forget(now);
    return this.good.reduce((sum, count) => sum + count, 0);
  }

  private forget(now: number): void {
    const bucket = Math.floor(now / BUCKET_MS);
    for (let old = Math.max(this.bucket + 1, bucket - BUCKETS + 1); old <= bucket; old++) this.good[old % BUCKETS] = 0;
    this.bucket = bucket;
  }
}
