import { currentSpan, type CurrentSpan } from './context/current-span.js';
import { outsideOfRequests, requestContext } from './context/request-context.js';

/** The time, in milliseconds, after which a running batch no longer delays the start of the next batch. */
const PATIENCE_MS = 20;
const MOST_IN_FLIGHT = 4;
/**
 * The maximum time for which a request waits for its batch, in milliseconds. The waiting times are checked once a
 * second.
 */
const MOST_WAIT_MS = 5_000;
const CHECK_MS = 1_000;

interface Waiting<T> {
  readonly item: T;
  readonly since: number;
  readonly span: CurrentSpan | undefined;
}

/**
 * Batches requests that arrive while a batch is running. A request that arrives while no batch is running starts a
 * batch immediately. Otherwise, the next batch starts when the running batch has ended, or when that batch takes long
 * (because it waits for a lock, for example) and fewer than four batches are running. A request never joins a batch
 * that is already running, so the work for a request always starts after the request has arrived. Callers share a batch
 * fairly, and a request that has waited too long is refused.
 *
 * A batch of one request runs in the tracing span of that request; a larger batch belongs to no request and no trace.
 */
export class Batcher<T extends { reject: (error: unknown) => void }> {
  /**
   * The waiting requests of each caller. The first caller in the Map is served next, and the first request in a list is
   * the caller's oldest request.
   */
  private readonly waitingOf = new Map<string, Waiting<T>[]>();
  private checking: NodeJS.Timeout | null = null;
  private inFlight = 0;
  /** The number of running batches that still delay the start of the next batch. */
  private awaited = 0;

  /**
   * Creates a batcher for one kind of request.
   * @param most the maximum size of a batch
   * @param work processes a batch; it settles each request and never rejects
   * @param refusal returns the error with which a request is rejected after it has waited too long
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
    this.beginAllowed();
    if (this.waitingOf.size > 0) this.checking ??= this.checkLater();
  }

  private refuseLate(): void {
    const late = performance.now() - MOST_WAIT_MS;
    for (const [caller, queue] of this.waitingOf) {
      while (queue.length > 0 && queue[0].since < late) queue.shift()!.item.reject(this.refusal());
      if (queue.length === 0) this.waitingOf.delete(caller);
    }
    this.checking = this.waitingOf.size > 0 ? this.checkLater() : null;
  }

  private checkLater(): NodeJS.Timeout {
    return setTimeout(() => this.refuseLate(), CHECK_MS).unref();
  }

  private beginAllowed(): void {
    if (this.waitingOf.size > 0 && this.awaited === 0 && this.inFlight < MOST_IN_FLIGHT) void this.begin();
  }

  private async begin(): Promise<void> {
    this.inFlight++;
    this.awaited++;
    let late = false;
    const patience = setTimeout(() => {
      late = true;
      this.awaited--;
      this.beginAllowed();
    }, PATIENCE_MS);
    const batch = this.next();
    const span = batch.length === 1 ? batch[0].span : undefined;
    await outsideOfRequests(span, () => this.work(batch.map(({ item }) => item)));
    clearTimeout(patience);
    this.inFlight--;
    if (!late) this.awaited--;
    this.beginAllowed();
  }

  private next(): Waiting<T>[] {
    const batch: Waiting<T>[] = [];
    for (const [caller, queue] of this.waitingOf) {
      if (batch.length === this.most) break;
      batch.push(queue.shift()!);
      // A caller with further requests moves to the end of the queue. Iterating over a Map also visits entries that are
      // added during the iteration, so the loop can serve the caller again.
      this.waitingOf.delete(caller);
      if (queue.length > 0) this.waitingOf.set(caller, queue);
    }
    return batch;
  }
}
