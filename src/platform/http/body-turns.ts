import { memorySpent } from './body-memory.js';

interface Waiting {
  readonly bytes: number;
  readonly enter: () => void;
}

/**
 * Bounds the bytes of large bodies that are worked on at the same time, which costs some five times their size. Callers
 * take turns, whatever the number of bodies that each has waiting; a body larger than the bound is worked on alone.
 */
export class BodyTurns {
  private taken = 0;
  /** The caller whose turn it is comes first. */
  private readonly waiting = new Map<string, Waiting[]>();

  constructor(
    private readonly bytes: number,
    private readonly waitMs: number,
  ) {}

  /**
   * Resolves, when it is the body's turn, with the function that ends it.
   * @throws DomainError service_unavailable when the turn does not come in time
   */
  async enter(caller: string, bytes: number): Promise<() => void> {
    if (this.waiting.size > 0 || !this.hasRoomFor(bytes)) await this.turn(caller, bytes);
    else this.taken += bytes;
    return () => this.leave(bytes);
  }

  private hasRoomFor(bytes: number): boolean {
    return this.taken === 0 || this.taken + bytes <= this.bytes;
  }

  private turn(caller: string, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = this.waiting.get(caller) ?? [];
      this.waiting.set(caller, queue);
      const waiting: Waiting = {
        bytes,
        enter: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0) this.waiting.delete(caller);
        reject(memorySpent());
      }, this.waitMs);
      queue.push(waiting);
    });
  }

  private leave(bytes: number): void {
    this.taken -= bytes;
    for (const [caller, queue] of this.waiting) {
      if (!this.hasRoomFor(queue[0].bytes)) return;
      const next = queue.shift()!;
      // To the end of the row: a Map iterates over what is added meanwhile.
      this.waiting.delete(caller);
      if (queue.length > 0) this.waiting.set(caller, queue);
      this.taken += next.bytes;
      next.enter();
    }
  }
}
