import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Logger } from '../../platform/observability/logger.js';
import { Readiness } from '../../platform/observability/readiness.js';
import { PollOffers } from '../delivery/poll-offers.js';
import { DeliverySignals } from '../delivery-signals.js';

const LOOK_MS = 1_000;

/** A poll that waits for a notification for one of its subscriptions. */
class Waiter {
  private timer: NodeJS.Timeout | undefined;
  readonly woken: Promise<void>;
  wake: () => void = () => undefined;

  constructor(
    readonly subscriptionIds: readonly string[],
    forMs: number,
  ) {
    this.woken = new Promise((resolve) => {
      this.wake = resolve;
      this.timer = setTimeout(resolve, forMs);
    });
  }

  end(): void {
    clearTimeout(this.timer);
  }
}

/**
 * Manages the polls of this process that wait for a notification. A waiting poll is a promise and a timer: it uses
 * neither a database connection nor a delivery slot.
 *
 * 1. A signal about a partner wakes the poll of this partner that has waited longest. If that poll finds more
 *    notifications than it may take, it wakes the next poll.
 * 2. Once a second, one query looks for notifications to the partners with waiting polls. A lost signal therefore
 *    delays a poll by at most a second.
 * 3. When the process stops, all polls are woken, and no poll waits any more.
 */
@Injectable()
export class PollWaiters implements BeforeApplicationShutdown {
  private readonly waiting = new Map<string, Set<Waiter>>();
  private looking = false;
  private stopped = false;

  constructor(
    private readonly offers: PollOffers,
    private readonly signals: DeliverySignals,
    private readonly readiness: Readiness,
    private readonly logger: Logger,
  ) {
    signals.connectPolls(this);
  }

  /** Whether polls are answered without waiting, because the process is stopping. */
  get isStopping(): boolean {
    return this.stopped || this.readiness.isStopping;
  }

  /** The number of waiting polls. */
  get count(): number {
    return new Set([...this.waiting.values()].flatMap((waiters) => [...waiters])).size;
  }

  /**
   * Resolves when there may be a notification for the subscriptions, when the waiting time is over, or when `gone`
   * aborts.
   */
  async wait(subscriptionIds: readonly string[], forMs: number, gone: AbortSignal): Promise<void> {
    if (this.isStopping || gone.aborted) return;
    // A process that does not deliver notifications begins to listen for signals here. All other processes already
    // listen.
    void this.signals.listen();
    const waiter = new Waiter(subscriptionIds, forMs);
    for (const id of subscriptionIds) {
      const others = this.waiting.get(id);
      if (others) others.add(waiter);
      else this.waiting.set(id, new Set([waiter]));
    }
    gone.addEventListener('abort', waiter.wake, { once: true });
    await waiter.woken;
    gone.removeEventListener('abort', waiter.wake);
    waiter.end();
    this.remove(waiter);
  }

  /** Wakes one waiting poll for each of these partners. */
  wake(subscriptionIds: readonly string[]): void {
    for (const id of subscriptionIds) {
      const [first] = this.waiting.get(id) ?? [];
      if (first === undefined) continue;
      // The poll is removed, so that the next signal wakes another poll.
      this.remove(first);
      first.wake();
    }
  }

  @Interval(LOOK_MS)
  async look(): Promise<void> {
    if (this.isStopping) return this.wakeAll();
    if (this.waiting.size === 0 || this.looking) return;
    this.looking = true;
    try {
      this.wake(await this.offers.offerable([...this.waiting.keys()]));
    } catch (error) {
      this.logger.warn({ err: error }, 'no notifications could be found for waiting polls; the next round tries again');
    } finally {
      this.looking = false;
    }
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    this.wakeAll();
    await this.signals.close();
  }

  private wakeAll(): void {
    for (const waiters of [...this.waiting.values()]) for (const waiter of [...waiters]) waiter.wake();
  }

  private remove(waiter: Waiter): void {
    for (const id of waiter.subscriptionIds) {
      const waiters = this.waiting.get(id);
      waiters?.delete(waiter);
      if (waiters?.size === 0) this.waiting.delete(id);
    }
  }
}
