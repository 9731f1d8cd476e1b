import { Injectable } from '@nestjs/common';
import { rateLimited } from '../errors.js';

/** Of a core, for the laborious bodies of one caller; the rest of the time is rest. */
const SHARE = 1 / 4;
/** A caller that sends one body after another waits, and is not refused. */
const MOST_REST_MS = 5_000;
const MOST_WAIT_MS = 8_000;
const MOST_REMEMBERED = 1000;

/**
 * Bounds the processor time that laborious bodies of one caller take: reading them is work that others wait for.
 *
 * 1. The reader of such a body charges the time to its caller.
 * 2. The caller's next one is put off until the caller has rested so long that a quarter of a core was taken, and no more.
 *    Others do not wait for it: rest before you take a turn.
 * 3. A body that would wait too long is refused: 429.
 */
@Injectable()
export class BodyPace {
  /** When each caller has rested, by `performance.now()`. */
  private readonly restedAt = new Map<string, number>();

  /**
   * Resolves when the caller has rested. Of those that wait, one goes on at a time: charge without an await in between.
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

  /** Callers that are remembered. */
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
