/** A send moment that is missed by this much expires: saved-up moments would make a burst. */
const LOST_MS = 300;
const BUCKET_MS = 100;
const BUCKETS = 10;

/** Tracks the pace of one partner in a worker: whether it is paced, and its reserved send moments. */
export class LanePace {
  /** Whether the partner is paced: each request needs one of the `moments`. */
  isPaced = false;
  /** Requests per second, if known. */
  rate = Infinity;
  /** Nothing is sent before this time, on the worker's clock. */
  wallUntil = -Infinity;
  private moments: number[] = [];
  /** Successful answers in each tenth of the last second. */
  private readonly good = new Int32Array(BUCKETS);
  private bucket = 0;

  /** Returns whether a request may be sent now. */
  isOpen(now: number): boolean {
    if (!this.isPaced) return true;
    while (this.moments.length > 0 && this.moments[0] < now - LOST_MS) this.moments.shift();
    return now >= this.wallUntil && this.moments.length > 0 && this.moments[0] <= now;
  }

  /** Returns the time of the next check; null when the moments are used up and more must be reserved. */
  opensAt(now: number): number | null {
    if (now < this.wallUntil) return this.wallUntil;
    return this.moments.length > 0 ? this.moments[0] : null;
  }

  /** Uses a moment for a request. */
  use(): void {
    if (this.isPaced) this.moments.shift();
  }

  /** Sets the pace in requests per second. */
  bound(rate: number): void {
    this.isPaced = true;
    this.rate = rate;
  }

  /** Adds this many send moments from that time on, at that rate. */
  allow(from: number, requests: number, rate: number): void {
    this.bound(rate);
    this.moments = Array.from({ length: requests }, (_, index) => from + (index * 1000) / rate);
  }

  /** Closes the queue for a busy partner and drops its moments. */
  close(until: number): void {
    this.isPaced = true;
    this.moments = [];
    this.wallUntil = Math.max(this.wallUntil, until);
  }

  /** Lifts the pause, so that the database is asked again. Returns false when there was none. */
  dropWall(): boolean {
    const stood = this.wallUntil !== -Infinity;
    this.wallUntil = -Infinity;
    return stood;
  }

  /** Removes the pace: the partner handles every request, as far as known. */
  unbound(): void {
    this.isPaced = false;
    this.rate = Infinity;
    this.moments = [];
  }

  answeredWell(now: number): void {
    this.forget(now);
    this.good[this.bucket % BUCKETS] += 1;
  }

  /** Returns the number of successful answers in the last second. */
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
