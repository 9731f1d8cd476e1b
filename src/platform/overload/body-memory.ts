import { serviceUnavailable } from '../errors.js';

/**
 * Limits the memory that request bodies occupy while they arrive. The received bytes count, rather than the announced
 * length.
 *
 * 1. Each received chunk is charged to the caller. While there is no free memory, the body is not read further:
 *    backpressure makes its sender wait.
 * 2. Each caller has a share of the memory. A caller that sends many bytes, or sends slowly, therefore delays no other
 *    caller.
 * 3. Bodies cannot block each other forever: the oldest unfinished body of a caller may exceed the caller's share, and
 *    the oldest of all bodies may exceed the total memory.
 * 4. A body that waits too long for memory is refused with 503.
 * 5. The memory of a body is released when its request has been answered.
 */
export class BodyMemory {
  private taken = 0;
  /** The bodies that have not arrived completely, the oldest first. */
  private readonly unfinished = new Set<BodySpace>();
  private readonly callers = new Map<string, CallerSpace>();
  private readonly waiting = new Set<Waiting>();

  constructor(
    private readonly bytes: number,
    private readonly share: number,
    private readonly waitMs: number,
  ) {}

  /**
   * Registers a body of the caller before its bytes arrive. Call `leave` on the result when the request has been
   * answered.
   */
  begin(name: string): BodySpace {
    let caller = this.callers.get(name);
    if (!caller) this.callers.set(name, (caller = { name, bytes: 0, bodies: 0, unfinished: new Set() }));
    const space = new BodySpace(this, caller);
    caller.bodies++;
    caller.unfinished.add(space);
    this.unfinished.add(space);
    return space;
  }

  /**
   * @internal Charges bytes to a body. Returns null if there is enough free memory for them; otherwise a promise that
   *   resolves when enough memory is free.
   */
  charge(space: BodySpace, bytes: number): Promise<void> | null {
    if (this.fits(space, bytes)) {
      this.take(space, bytes);
      return null;
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { space, bytes, resolve, timer: setTimeout(() => refuse(), this.waitMs) };
      const refuse = (): void => {
        this.waiting.delete(waiting);
        reject(memorySpent());
      };
      this.waiting.add(waiting);
    });
  }

  /** @internal Marks a request body as complete, so that it no longer counts as the oldest unfinished body. */
  finish(space: BodySpace): void {
    this.unfinished.delete(space);
    space.caller.unfinished.delete(space);
    this.serve();
  }

  /** @internal Releases the memory that a request body occupies. */
  giveBack(space: BodySpace): void {
    this.taken -= space.taken;
    space.caller.bytes -= space.taken;
    if (--space.caller.bodies === 0) this.callers.delete(space.caller.name);
    for (const waiting of this.waiting)
      if (waiting.space === space) {
        clearTimeout(waiting.timer);
        this.waiting.delete(waiting);
      }
    this.finish(space);
  }

  private fits(space: BodySpace, bytes: number): boolean {
    const { caller } = space;
    return (
      (this.taken + bytes <= this.bytes || first(this.unfinished) === space) &&
      (caller.bytes + bytes <= this.share || first(caller.unfinished) === space)
    );
  }

  private take(space: BodySpace, bytes: number): void {
    this.taken += bytes;
    space.caller.bytes += bytes;
    space.taken += bytes;
  }

  private serve(): void {
    for (const waiting of this.waiting) {
      if (!this.fits(waiting.space, waiting.bytes)) continue;
      this.waiting.delete(waiting);
      clearTimeout(waiting.timer);
      this.take(waiting.space, waiting.bytes);
      waiting.resolve();
    }
  }
}

interface CallerSpace {
  readonly name: string;
  bytes: number;
  bodies: number;
  readonly unfinished: Set<BodySpace>;
}

interface Waiting {
  readonly space: BodySpace;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly timer: NodeJS.Timeout;
}

/** The memory that is charged to one request body. */
export class BodySpace {
  /** @internal The number of received bytes that are charged to the body. */
  taken = 0;
  private left = false;

  constructor(
    private readonly memory: BodyMemory,
    readonly caller: CallerSpace,
  ) {}

  /**
   * Charges received bytes. Returns null if there is memory for them. Otherwise, returns a promise; the caller must not
   * read further bytes until the promise resolves.
   * @throws DomainError service_unavailable (in the promise) when there was no memory for too long
   */
  charge(bytes: number): Promise<void> | null {
    return this.memory.charge(this, bytes);
  }

  /** Marks the request body as completely received. */
  finish(): void {
    this.memory.finish(this);
  }

  /** Releases the memory that is charged to the body. Only the first call has an effect. */
  leave(): void {
    if (this.left) return;
    this.left = true;
    this.memory.giveBack(this);
  }
}

const RETRY_AFTER_S = 5;

export function memorySpent(): Error {
  return serviceUnavailable.error({
    detail:
      'The service is receiving too many large bodies. Try again after the number of seconds in the Retry-After header.',
    headers: { 'Retry-After': String(RETRY_AFTER_S) },
  });
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  for (const value of set) return value;
  return undefined;
}
