interface Waiting {
  readonly size: number;
  readonly enter: () => void;
}

/**
 * A fair semaphore, which limits the work in progress. Free slots are given to the callers in turn, however many
 * waiting entries each caller has. A flood of entries therefore delays only its own caller. An entry that is larger
 * than the limit is admitted when no other work is in progress.
 */
export class FairSemaphore {
  private taken = 0;
  /** The waiting entries of each caller. The callers are in the order in which they will be served. */
  private readonly waitingOf = new Map<string, Waiting[]>();

  /**
   * Creates a semaphore with the given limit.
   * @param refusal returns the error with which an entry is rejected after it has waited too long
   */
  constructor(
    private readonly most: number,
    private readonly waitMs: number,
    private readonly refusal: () => Error,
  ) {}

  /** The number of entries that wait for a slot. */
  get waiting(): number {
    let sum = 0;
    for (const queue of this.waitingOf.values()) sum += queue.length;
    return sum;
  }

  /**
   * Returns null if the entry may begin immediately; otherwise a promise that resolves when the entry is admitted. Call
   * `leave` when the work of the entry has ended.
   * @throws the error of `refusal` (in the promise)
   */
  enter(caller: string, size: number): Promise<void> | null {
    if (this.waitingOf.size > 0 || !this.hasRoomFor(size)) return this.turn(caller, size);
    this.taken += size;
    return null;
  }

  leave(size: number): void {
    this.taken -= size;
    for (const [caller, queue] of this.waitingOf) {
      if (!this.hasRoomFor(queue[0].size)) return;
      const next = queue.shift()!;
      // The caller moves to the end of the queue. Iterating over a Map also visits entries that are added during the
      // iteration, so the loop can serve the caller again.
      this.waitingOf.delete(caller);
      if (queue.length > 0) this.waitingOf.set(caller, queue);
      this.taken += next.size;
      next.enter();
    }
  }

  private hasRoomFor(size: number): boolean {
    return this.taken === 0 || this.taken + size <= this.most;
  }

  private turn(caller: string, size: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = this.waitingOf.get(caller) ?? [];
      this.waitingOf.set(caller, queue);
      const waiting: Waiting = {
        size,
        enter: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0) this.waitingOf.delete(caller);
        reject(this.refusal());
      }, this.waitMs);
      queue.push(waiting);
    });
  }
}
