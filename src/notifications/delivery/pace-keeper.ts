import type { Database } from '../../platform/database/database.js';
import type { Logger } from '../../platform/observability/logger.js';
import type { PartnerQueue } from './partner-queue.js';
import { RESERVE, type Reserved } from './pace-statements.js';

/** The time in milliseconds after which a failed database query is retried. */
const ASK_AGAIN_MS = 250;
/** The tolerance, in milliseconds, for timers that fire slightly early. */
const EARLY_MS = 1;
/**
 * The maximum age, in milliseconds, of a send time that has just been reserved. It is less than the age at which unused
 * send times expire.
 */
const USABLE_MS = 100;
/** The maximum interval, in milliseconds, between requests to the database for send times. */
const LONGEST_MS = 15_000;

/**
 * Opens the closed queues of partners in this process. A paused queue opens when its pause is over. Other queues open
 * at the send times that the database reserves, one after the other, for all processes (pace-statements.ts).
 */
export class PaceKeeper<Item> {
  private readonly arranged = new Map<PartnerQueue<Item>, NodeJS.Timeout | null>();

  /**
   * Creates the pace keeper.
   * @param opened called when a queue may start an attempt, or when there may be more notifications to claim for its
   * partner
   */
  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly opened: (queue: PartnerQueue<Item>) => void,
  ) {}

  /** Opens the queue as soon as an attempt to its partner may start. */
  arrange(queue: PartnerQueue<Item>): void {
    if (this.arranged.has(queue)) return;
    const now = performance.now();
    const at = queue.pace.opensAt(now);
    if (at !== null || !queue.pace.isPaced) return this.wait(queue, (at ?? now) - now);
    this.arranged.set(queue, null);
    void this.reserve(queue).then((waitMs) => {
      this.arranged.delete(queue);
      this.wait(queue, waitMs);
    });
  }

  /** Drops the timer of a queue, after the sandbox's clock was moved or the partner was deleted. */
  forget(queue: PartnerQueue<Item>): void {
    const timer = this.arranged.get(queue);
    if (timer) clearTimeout(timer);
    if (timer !== null) this.arranged.delete(queue);
  }

  /**
   * Ends the pause of the partner and checks its queue again, after the sandbox's clock was moved or the partner got a
   * new address.
   */
  checkAgain(queue: PartnerQueue<Item>): void {
    if (!queue.pace.dropWall()) return;
    this.forget(queue);
    this.arrange(queue);
  }

  private wait(queue: PartnerQueue<Item>, ms: number): void {
    const timer = setTimeout(
      () => {
        this.arranged.delete(queue);
        if (queue.pace.isOpen(performance.now())) this.opened(queue);
        else {
          // The database is asked again, because the pause may have ended early. For example, another process may have
          // ended the pause after the partner's address was changed.
          queue.pace.dropWall();
          this.arrange(queue);
        }
      },
      Math.min(LONGEST_MS, Math.max(0, ms) + EARLY_MS),
    );
    this.arranged.set(queue, timer.unref());
  }

  /** Reserves send times for the queue. Returns the milliseconds until the queue must be checked again. */
  private async reserve(queue: PartnerQueue<Item>): Promise<number> {
    const asked = performance.now();
    try {
      const found = await this.database.queryOne<Reserved>(RESERVE, [
        queue.id,
        Math.max(1, queue.waiting),
        queue.pace.takeLate(),
      ]);
      if (found === null) return ASK_AGAIN_MS;
      const now = performance.now();
      const { pace, requests, from_ms, wall_ms } = found;
      // Reserved send times count from the moment at which the database was asked, so that a slow response does not
      // shift them. If the response is very late, the send times begin at most USABLE_MS in the past, because older
      // ones would expire unused. A pause counts from the response, so that it does not end early.
      const from = Math.max(asked + from_ms, now - USABLE_MS);
      if (wall_ms > 0) queue.pace.close(now + wall_ms);
      else if (pace === null) queue.pace.unbound();
      else if (requests > 0) queue.pace.allow(from, requests, pace);
      return wall_ms > 0 ? wall_ms : from - now;
    } catch (error) {
      this.logger.warn({ err: error, subscription_id: queue.id }, 'the pace of a partner could not be queried');
      return ASK_AGAIN_MS;
    }
  }
}
