import { requestContext } from './context/request-context.js';

/** Work that takes longer than this does not hold up what waits behind it any more. */
const PATIENCE_MS = 20;
const MOST_IN_FLIGHT = 4;

/**
 * What comes while work is under way is done together afterwards: at once while none is, else when what is under way has
 * ended or takes long (behind a lock, say), while fewer than four are under way. So the work for something always
 * begins after it came. When more waits than is done at once, callers take turns.
 */
export class Gathering<T> {
  /** The caller whose turn it is comes first. */
  private readonly waitingOf = new Map<string, T[]>();
  private inFlight = 0;
  /** Those in flight that have not been waited for long enough. */
  private awaited = 0;

  /**
   * @param most that is done together
   * @param work never rejects: it tells those who wait for its outcome
   */
  constructor(
    private readonly most: number,
    private readonly work: (batch: readonly T[]) => Promise<void>,
  ) {}

  add(item: T): void {
    const caller = requestContext().caller?.consumerKey ?? '';
    const queue = this.waitingOf.get(caller);
    if (queue) queue.push(item);
    else this.waitingOf.set(caller, [item]);
    this.beginWhatMay();
  }

  private beginWhatMay(): void {
    if (this.waitingOf.size > 0 && this.awaited === 0 && this.inFlight < MOST_IN_FLIGHT) void this.begin();
  }

  private async begin(): Promise<void> {
    this.inFlight++;
    this.awaited++;
    let late = false;
    const patience = setTimeout(() => {
      late = true;
      this.awaited--;
      this.beginWhatMay();
    }, PATIENCE_MS);
    await this.work(this.next());
    clearTimeout(patience);
    this.inFlight--;
    if (!late) this.awaited--;
    this.beginWhatMay();
  }

  private next(): T[] {
    const batch: T[] = [];
    for (const [caller, queue] of this.waitingOf) {
      if (batch.length === this.most) break;
      batch.push(queue.shift()!);
      // To the end of the row: a Map iterates over what is added meanwhile.
      this.waitingOf.delete(caller);
      if (queue.length > 0) this.waitingOf.set(caller, queue);
    }
    return batch;
  }
}
