import { currentSpan, type CurrentSpan } from './context/current-span.js';
import { outsideOfRequests, requestContext } from './context/request-context.js';

/** Work that takes longer than this does not hold up what waits behind it any more. */
const PATIENCE_MS = 20;
const MOST_IN_FLIGHT = 4;
/** Looked at once a second. */
const MOST_WAIT_MS = 5_000;
const LOOK_MS = 1_000;

interface Waiting<T> {
  readonly item: T;
  readonly since: number;
  readonly span: CurrentSpan | undefined;
}

/**
 * Batches requests that arrive while a batch is under way. The next batch begins at once while none is under way. Otherwise it
 * begins when the running one has ended or takes long (behind a lock, say), while fewer than four run. So a request's work
 * always begins after its arrival. Callers take turns at a batch, and a request that has waited too long is refused.
 *
 * A batch of one request belongs to its span; a batch of many belongs to no request and no trace.
 */
export class Gathering<T extends { reject: (error: unknown) => void }> {
  /** The caller whose turn it is comes first; of each the oldest. */
  private readonly waitingOf = new Map<string, Waiting<T>[]>();
  private looking: NodeJS.Timeout | null = null;
  private inFlight = 0;
  /** Those in flight that have not been waited for long enough. */
  private awaited = 0;

  /**
   * @param most that is done together
   * @param work never rejects: it tells those who wait for its outcome
   * @param refusal what those are refused with whose turn does not come in time
   */
  constructor(
    private readonly most: number,
    private readonly work: (batch: readonly T[]) => Promise<void>,
    private readonly refusal: () => Error,
  ) {}

  add(item: T): void {
    const caller = requestContext().caller?.consumerKey ?? '';
    const waiting = { item, since: performance.now(), span: currentSpan.current };
    const queue = this.waitingOf.get(caller);
    if (queue) queue.push(waiting);
    else this.waitingOf.set(caller, [waiting]);
    this.beginWhatMay();
    if (this.waitingOf.size > 0) this.looking ??= this.lookLater();
  }

  private refuseLate(): void {
    const late = performance.now() - MOST_WAIT_MS;
    for (const [caller, queue] of this.waitingOf) {
      while (queue.length > 0 && queue[0].since < late) queue.shift()!.item.reject(this.refusal());
      if (queue.length === 0) this.waitingOf.delete(caller);
    }
    this.looking = this.waitingOf.size > 0 ? this.lookLater() : null;
  }

  private lookLater(): NodeJS.Timeout {
    return setTimeout(() => this.refuseLate(), LOOK_MS).unref();
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
    const batch = this.next();
    const span = batch.length === 1 ? batch[0].span : undefined;
    await outsideOfRequests(span, () => this.work(batch.map(({ item }) => item)));
    clearTimeout(patience);
    this.inFlight--;
    if (!late) this.awaited--;
    this.beginWhatMay();
  }

  private next(): Waiting<T>[] {
    const batch: Waiting<T>[] = [];
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
