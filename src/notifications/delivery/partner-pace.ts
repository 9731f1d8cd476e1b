/**
 * The age, in milliseconds, at which an unused send time expires. If unused send times were kept, a burst of requests
 * could follow.
 */
const LOST_MS = 300;
/**
 * The tolerated delay, in milliseconds, between a send time and its request. After a longer delay, the following send
 * times are postponed, so that the partner never gets more requests in a second than it accepts.
 */
const LATE_MS = 20;
/** The rate, in requests per second, below which the delay of a single request matters to the partner. */
const SLOW = 2;
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
  /** The time at which the last send time was used. */
  private usedAt = -Infinity;
  /** The time, in milliseconds, for which the last request to a slow partner waited for its connection. */
  private waitedMs = 0;
  /** The total delay, in milliseconds, of the requests that left too late since the last reservation. */
  private lateMs = 0;
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
  use(now: number): void {
    this.usedAt = now;
    const moment = this.moments.shift();
    if (moment !== undefined) this.postpone(now - moment);
  }

  /**
   * Records that a request to the partner is being sent now. If this request has waited longer for its connection than
   * the request before it, the next request would follow too soon. The remaining send times are therefore postponed.
   */
  sends(now: number): void {
    if (this.rate >= SLOW) return;
    const waited = now - this.usedAt;
    this.postpone(waited - this.waitedMs);
    this.waitedMs = waited;
  }

  /**
   * Returns the delay, in milliseconds, by which the next reserved send times must be postponed, and resets the delay
   * to 0.
   */
  takeLate(): number {
    const { lateMs } = this;
    this.lateMs = 0;
    return lateMs;
  }

  /** Limits the partner to `rate` requests per second. */
  bound(rate: number): void {
    this.isPaced = true;
    this.rate = rate;
  }

  /**
   * Replaces the reserved send times with `requests` new ones, from the time `from` on, at a rate of `rate` per second.
   */
  allow(from: number, requests: number, rate: number): void {
    this.bound(rate);
    this.moments = Array.from({ length: requests }, (_, index) => from + (index * 1000) / rate);
  }

  /** Pauses the requests to a busy partner, and drops its reserved send times. */
  close(until: number): void {
    this.isPaced = true;
    this.moments = [];
    this.lateMs = 0;
    this.wallUntil = Math.max(this.wallUntil, until);
  }

  /**
   * Ends the partner's pause in this process. Afterwards, the process asks the database again whether a request may be
   * sent. Returns false if there was no pause.
   */
  dropWall(): boolean {
    const stood = this.wallUntil !== -Infinity;
    this.wallUntil = -Infinity;
    return stood;
  }

  /** Removes the limit on the requests to the partner. */
  unbound(): void {
    this.isPaced = false;
    this.rate = Infinity;
    this.moments = [];
  }

  /** Postpones the remaining send times, because a request was sent `late` milliseconds after its send time. */
  private postpone(late: number): void {
    if (late <= LATE_MS) return;
    this.moments = this.moments.map((moment) => moment + late - LATE_MS);
    this.lateMs += late - LATE_MS;
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
