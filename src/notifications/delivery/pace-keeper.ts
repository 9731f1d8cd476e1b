import type { Database } from '../../platform/database/database.js';
import type { Logger } from '../../platform/observability/logger.js';
import type { Lane } from './delivery-lane.js';
import { RESERVE, type Reserved } from './pace-statements.js';

/** The time after a failed query until it is retried. */
const ASK_AGAIN_MS = 250;
/** The tolerance for timers, which may fire slightly early. */
const EARLY_MS = 1;
/** The longest timer, after which the database is asked again. */
const LONGEST_MS = 15_000;

/**
 * Opens the closed queues of this process. A paused queue opens when its pause is over; other queues open at the send
 * times that the database reserves for all processes in turn (pace-statements.ts).
 */
export class PaceKeeper<Item> {
  private readonly arranged = new Map<Lane<Item>, NodeJS.Timeout | null>();

  /**
   * Creates the keeper.
   * @param opened called when a queue may start an attempt, or when there may be more to claim for it
   */
  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly opened: (lane: Lane<Item>) => void,
  ) {}

  /** Opens the queue as soon as an attempt to its partner may start. */
  arrange(lane: Lane<Item>): void {
    if (this.arranged.has(lane)) return;
    const now = performance.now();
    const at = lane.pace.opensAt(now);
    if (at !== null || !lane.pace.isPaced) return this.wait(lane, (at ?? now) - now);
    this.arranged.set(lane, null);
    void this.reserve(lane).then((waitMs) => {
      this.arranged.delete(lane);
      this.wait(lane, waitMs);
    });
  }

  /** Drops the timer of a queue, because the sandbox's clock was moved or the partner was deleted. */
  forget(lane: Lane<Item>): void {
    const timer = this.arranged.get(lane);
    if (timer) clearTimeout(timer);
    if (timer !== null) this.arranged.delete(lane);
  }

  /**
   * Lifts the pause of the partner and checks again, because the sandbox's clock was moved or the partner has a new
   * address.
   */
  lookAgain(lane: Lane<Item>): void {
    if (!lane.pace.dropWall()) return;
    this.forget(lane);
    this.arrange(lane);
  }

  private wait(lane: Lane<Item>, ms: number): void {
    const timer = setTimeout(
      () => {
        this.arranged.delete(lane);
        if (lane.pace.isOpen(performance.now())) this.opened(lane);
        else {
          // The database is asked, because another process may already have ended the pause, for example after a new
          // address.
          lane.pace.dropWall();
          this.arrange(lane);
        }
      },
      Math.min(LONGEST_MS, Math.max(0, ms) + EARLY_MS),
    );
    this.arranged.set(lane, timer.unref());
  }

  /** Reserves send times for the queue; returns the milliseconds until its next check. */
  private async reserve(lane: Lane<Item>): Promise<number> {
    try {
      const found = await this.database.queryOne<Reserved>(RESERVE, [lane.id, Math.max(1, lane.waiting)]);
      if (found === null) return ASK_AGAIN_MS;
      const now = performance.now();
      const { pace, requests, from_ms, wall_ms } = found;
      if (wall_ms > 0) lane.pace.close(now + wall_ms);
      else if (pace === null) lane.pace.unbound();
      else if (requests > 0) lane.pace.allow(now + from_ms, requests, pace);
      return wall_ms > 0 ? wall_ms : from_ms;
    } catch (error) {
      this.logger.warn({ err: error, subscription_id: lane.id }, 'the pace of a partner could not be asked for');
      return ASK_AGAIN_MS;
    }
  }
}
