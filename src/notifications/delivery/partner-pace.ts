/**
 * The age, in milliseconds, at which an unused send time expires. If unused send times were kept, a burst of requests
 * could follow.
 */
const LOST_MS = 300;
const BUCKET_MS = 100;
const BUCKETS = 10;

/**
 * Tracks the pace of one partner in a worker: whether requests to the partner are limited, and the reserved send times.
 */
export class PartnerPace {
  /** Whether the partner's requests are spaced: each request then needs one of the reserved send times in `moments`. */
  isPaced = false;
  /** The maximum number of requests per second; Infinity if no limit is known. */
  rate = Infinity;
  /** The end of the pause after the partner's "busy" response, on the worker's clock; until then nothing is sent. */
  wallUntil = -Infinity;
  private moments: number[] = [];
  /** The number of successful responses in each tenth of the last second. */
  private readonly good = new Int32Array(BUCKETS);
  private bucket = 0;

  /** Returns whether a request to the partner may be sent now. */
  isOpen(now: number): boolean {
    if (!this.isPaced) return true;
    while (this.moments.length > 0 && this.moments[0] < now - LOST_MS) this.moments.shift();
    return now >= this.wallUntil && this.moments.length > 0 && this.moments[0] <= now;
  }

  /**
   * Returns the time at which to check again whether a request may be sent; null if no send time is left and more must
   * be reserved.
   */
  opensAt(now: number): number | null {
    if (now < this.wallUntil) return this.wallUntil;
    return this.moments.length > 0 ? this.moments[0] : null;
  }

  /** Uses up one of the partner's reserved send times for a request. */
  use(): void {
    if (this.isPaced) this.moments.shift();
  }

  /** Limits the partner to `rate` requests per second. */
  bound(rate: number): void {
    this.isPaced = true;
    this.rate = rate;
  }

  /** Replaces the reserved send times by `requests` new times, from the time `from` on, at `rate` per second. */
  allow(from: number, requests: number, rate: number): void {
    this.bound(rate);
    this.moments = Array.from({ length: requests }, (_, index) => from + (index * 1000) / rate);
  }

  /** Pauses the requests to a busy partner, and drops its reserved send times. */
  close(until: number): void {
    this.isPaced = true;
    this.moments = [];
    this.wallUntil = Math.max(this.wallUntil, until);
  }

  /** Ends the partner's pause, so that the database is asked again. Returns false if there was none. */
  dropWall(): boolean {
    const stood = this.wallUntil !== -Infinity;
    this.wallUntil = -Infinity;
    return stood;
  }

  /** Removes the limit: as far as known, the partner handles every request. */
  unbound(): void {
    this.isPaced = false;
    this.rate = Infinity;
    this.moments = [];
  }

  answeredWell(now: number): void {
    this.forget(now);
    this.good[this.bucket % BUCKETS] += 1;
  }

  /** Returns the number of the partner's successful responses in the last second. */
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
