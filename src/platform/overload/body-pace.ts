import { Injectable } from '@nestjs/common';
import { rateLimited } from '../errors.js';

/**
 * The share of a core that the expensive bodies of one caller may use. After each such body, the caller's next bodies
 * wait long enough to keep the caller within this share.
 */
const SHARE = 1 / 8;
/**
 * The longest delay between two bodies of a caller, and the longest time for which a body waits, in milliseconds. A
 * body that would wait longer is refused.
 */
const MOST_REST_MS = 5_000;
const MOST_WAIT_MS = 8_000;
const MOST_REMEMBERED = 1000;

/**
 * Limits the processor time for the expensive request bodies of one caller, because the requests of other callers wait
 * while such a body is processed.
 *
 * 1. The code that processes such a body charges the processing time to the caller.
 * 2. The caller's next body is delayed until the caller's average is an eighth of a core. The delay does not affect other
 *    callers, because `rest` is called before the body enters a queue.
 * 3. A body that would wait too long is refused with 429.
 */
@Injectable()
export class BodyPace {
  /** The time at which each caller's pause ends, as measured by `performance.now()`. */
  private readonly restedAt = new Map<string, number>();

  /**
   * Resolves when the caller's pause is over. The waiting bodies of a caller continue one at a time. After `rest`
   * resolves, process the body and charge its time without an await in between.
   * @throws DomainError rate_limited
   */
  async rest(caller: string): Promise<void> {
    const until = performance.now() + MOST_WAIT_MS;
    for (let ms = this.restOf(caller); ms > 0; ms = this.restOf(caller)) {
      const left = until - performance.now();
      await pause(Math.min(ms, Math.max(left, 0)));
      if (left <= ms && this.restOf(caller) > 0) throw tooMuch(this.restOf(caller));
    }
  }

  charge(caller: string, workMs: number): void {
    if (this.restedAt.size >= MOST_REMEMBERED) this.forgetRested();
    const rest = Math.max(this.restOf(caller), 0) + workMs * (1 / SHARE - 1);
    this.restedAt.set(caller, performance.now() + Math.min(rest, MOST_REST_MS));
  }

  /** The number of callers whose pauses this process remembers. */
  get size(): number {
    return this.restedAt.size;
  }

  private restOf(caller: string): number {
    return (this.restedAt.get(caller) ?? 0) - performance.now();
  }

  private forgetRested(): void {
    const now = performance.now();
    for (const [caller, at] of this.restedAt) if (at <= now) this.restedAt.delete(caller);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function tooMuch(restMs: number): Error {
  return rateLimited.error({
    detail:
      'The bodies of your requests take too much time to read. Wait for the number of seconds in the Retry-After header.',
    headers: { 'Retry-After': String(Math.ceil(restMs / 1000)) },
  });
}
