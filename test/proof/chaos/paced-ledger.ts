import { Ledger } from './chaos-ledger.js';

const PER_SECOND = 40;

/** The ledger of a partner that accepts at most 40 requests in any second, and answers further requests with 429. */
export class PacedLedger extends Ledger {
  private readonly taken: number[] = [];
  /** The number of requests that were answered with 429. */
  busy = 0;

  protected override isBusy(): boolean {
    const now = performance.now();
    while (this.taken.length > 0 && this.taken[0] <= now - 1000) this.taken.shift();
    if (this.taken.length >= PER_SECOND) {
      this.busy += 1;
      return true;
    }
    this.taken.push(now);
    return false;
  }
}
