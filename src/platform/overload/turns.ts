interface Waiting {
  readonly size: number;
  readonly enter: () => void;
}

/**
 * Bounds what is under way at the same time. Callers take turns at free places, whatever the number of entries that
 * each has waiting: a flood delays only its own caller. An entry larger than the bound is admitted alone.
 */
export class Turns {
  private taken = 0;
  /** The caller whose turn it is comes first. */
  private readonly waitingOf = new Map<string, Waiting[]>();

  /** @param refusal what those are refused with whose turn does not come in time */
  constructor(
    private readonly most: number,
    private readonly waitMs: number,
    private readonly refusal: () => Error,
  ) {}

  /** How many wait. */
  get waiting(): number {
    let sum = 0;
    for (const queue of this.waitingOf.values()) sum += queue.length;
    return sum;
  }

  /**
   * Null when it may begin at once; else resolves when it is its turn. An admitted caller must `leave`.
   * @throws what `refusal` makes (in the promise)
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
      // To the end of the row: a Map iterates over what is added meanwhile.
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
