import { setTimeout as pause } from 'node:timers/promises';
import { NotificationsConfig } from '../notifications.config.js';
import { Database, isTimedOut, mustBeDoneAgain } from '../../platform/database/database.js';
import type { Logger } from '../../platform/observability/logger.js';
import { RELEASE, RELEASE_PROBE, type Claimed } from './delivery-statements.js';
import { RECORD_DELIVERED, RECORD_FAILED } from './record-statements.js';
import type { RacePoints } from '../race-points.js';
import type { Retry } from './notification.entity.js';
import { isPartnerLevel } from './outcome.rules.js';
import type { AttemptOutcome } from '../partner/attempt-outcome.js';

/** The outcome of an attempt. `retry` is null if the notification was delivered. */
export interface Outcome {
  readonly item: Claimed;
  readonly probe: boolean;
  readonly at: Date;
  /** The partner's address to which the request was sent. */
  readonly partnerUrl: string;
  readonly result: AttemptOutcome;
  readonly retry: Retry | null;
  /**
   * Null unless the partner sent a "busy" response. `waitS` is the number of seconds for which nothing is sent to the
   * partner. `good` is the number of successful responses from the partner to this process in the last second.
   */
  readonly busy: { readonly waitS: number; readonly good: number } | null;
  /** Whether other attempts were waiting for the partner's next send time when this attempt ended. */
  readonly othersWait: boolean;
}

const RETRY_PAUSE_MS = 300;
const LARGEST_WRITE = 1000;
/**
 * GATHER_MS is the maximum time, in milliseconds, that a delivery waits until it is recorded. GATHER_MOST is the number
 * of waiting deliveries at which the batch is written immediately.
 */
const GATHER_MS = 20;
const GATHER_MOST = 256;

/**
 * Records outcomes in batches. Failures are written immediately, because they may stop a partner or allow the next
 * event of a booking. Successful deliveries may wait briefly, so that several are written together; this delays only
 * the next events of their bookings. While the database is unavailable, all outcomes are kept in memory and written
 * again later. The fencing token decides whether the database still accepts an outcome.
 *
 * A batch that waits too long for a lock (for example, on the rows of one partner) is split by partner, and the parts
 * are written separately. A later outcome waits only while the part of its own partner is still being written.
 */
export class OutcomeWriter {
  private delivered: Outcome[] = [];
  private failed: Outcome[] = [];
  private released: Claimed[] = [];
  /** The separate writers for single partners, by subscription id. Each also gets the later outcomes of its partner. */
  private readonly apart = new Map<string, OutcomeWriter>();
  private running: Promise<void> | null = null;
  private pendingStart: NodeJS.Timeout | null = null;
  private stopped = false;

  /**
   * Creates the writer.
   * @param onRecorded called after each write, with the recorded outcomes and the subscriptions whose notifications can
   * now be claimed
   * @param isApart whether the writer serves one partner only
   */
  constructor(
    private readonly database: Database,
    private readonly config: NotificationsConfig,
    private readonly logger: Logger,
    private readonly races: RacePoints,
    private readonly onRecorded: (outcomes: readonly Outcome[], freed: readonly string[]) => void,
    private readonly isApart = false,
  ) {}

  /** Whether outcomes of attempts are being recorded or are waiting to be recorded. */
  get isBusy(): boolean {
    return this.running !== null || this.hasWork();
  }

  add(outcome: Outcome): void {
    const apart = this.apart.get(outcome.item.subscription_id);
    if (apart) return apart.add(outcome);
    (outcome.retry === null ? this.delivered : this.failed).push(outcome);
    // The recovery of a partner, or the result of an operator's resend, should be visible to operators immediately.
    if (outcome.item.down || outcome.item.trigger === 'MANUAL') this.start();
    else this.startInTime();
  }

  /**
   * Releases notifications that were claimed but not sent. They are released after all earlier outcomes are written,
   * because an earlier outcome may stop the partner's deliveries.
   */
  release(items: Claimed[]): void {
    const here = items.filter((item) => !this.apart.has(item.subscription_id));
    for (const item of items) this.apart.get(item.subscription_id)?.release([item]);
    if (here.length === 0) return;
    this.released.push(...here);
    this.start();
  }

  /** Resolves when all outcomes of attempts are recorded. */
  async idle(): Promise<void> {
    while (this.isBusy || this.apart.size > 0) {
      if (this.hasWork()) this.start();
      await this.running;
      await Promise.all([...this.apart.values()].map((writer) => writer.idle()));
      await pause(0);
    }
  }

  /**
   * Stops writing. Outcomes that are not yet recorded are lost; the leases of their notifications expire, and the
   * notifications are claimed again.
   */
  stop(): void {
    this.stopped = true;
    for (const writer of this.apart.values()) writer.stop();
  }

  private hasWork(): boolean {
    return this.delivered.length + this.failed.length + this.released.length > 0;
  }

  private startInTime(): void {
    if (this.failed.length + this.released.length > 0 || this.delivered.length >= GATHER_MOST) this.start();
    else if (this.delivered.length > 0) this.pendingStart ??= setTimeout(() => this.start(), GATHER_MS);
  }

  private start(): void {
    if (this.pendingStart) clearTimeout(this.pendingStart);
    this.pendingStart = null;
    this.running ??= this.run().finally(() => {
      this.running = null;
      this.startInTime();
    });
  }

  private async run(): Promise<void> {
    // Waits for one turn of the event loop, so that outcomes that arrive at the same time are written in one batch.
    await pause(0);
    await this.races.reached('attempt ended');
    do {
      // Unsent notifications are released only when no failure remains to be written: the outcome that caused the
      // release must be written first.
      const failed = this.failed.splice(0, LARGEST_WRITE);
      const delivered = this.delivered.splice(0, LARGEST_WRITE);
      const released = this.failed.length === 0 ? this.released.splice(0, LARGEST_WRITE) : [];
      if (failed.length > 0) await this.write(failed, (some) => this.recordFailed(some));
      if (delivered.length > 0) await this.write(delivered, (some) => this.recordDelivered(some));
      const here = released.filter((item) => !this.apart.has(item.subscription_id));
      if (here.length > 0) await this.giveBack(here);
      this.release(released.filter((item) => this.apart.has(item.subscription_id)));
    } while (this.failed.length + this.released.length > 0);
  }

  private async write(outcomes: Outcome[], record: (some: Outcome[]) => Promise<string[]>): Promise<void> {
    while (!this.stopped) {
      try {
        this.onRecorded(outcomes, await record(outcomes));
        return;
      } catch (error) {
        if (isTimedOut(error) && !this.isApart) return this.setApart(outcomes);
        if (!mustBeDoneAgain(error)) {
          this.logger.error({ err: error, outcomes: outcomes.length }, 'outcomes of attempts cannot be recorded');
          // If a single outcome makes the whole batch fail, each outcome is written alone, so that the other outcomes
          // succeed. The notification of an outcome that cannot be written is claimed again later.
          if (outcomes.length > 1) for (const one of outcomes) await this.write([one], record);
          else this.onRecorded(outcomes, []);
          return;
        }
        await pause(RETRY_PAUSE_MS);
      }
    }
  }

  /** Gives the outcomes of each partner to a separate writer, which is used until it has written all its outcomes. */
  private setApart(outcomes: Outcome[]): void {
    this.logger.warn(
      { outcomes: outcomes.length },
      'outcomes wait for a lock; they are written separately for each partner',
    );
    for (const outcome of outcomes) {
      const { subscription_id } = outcome.item;
      let writer = this.apart.get(subscription_id);
      if (writer === undefined) {
        writer = new OutcomeWriter(this.database, this.config, this.logger, this.races, this.onRecorded, true);
        this.apart.set(subscription_id, writer);
        void this.closeApart(subscription_id, writer);
      }
      writer.add(outcome);
    }
    // Claimed notifications that were not sent are released after the failures that stopped their partner are written.
    const released = this.released;
    this.released = [];
    this.release(released);
  }

  private async closeApart(subscriptionId: string, writer: OutcomeWriter): Promise<void> {
    await pause(0);
    await writer.idle();
    this.apart.delete(subscriptionId);
  }

  private async recordDelivered(outcomes: Outcome[]): Promise<string[]> {
    const rows = await this.database.query<{ subscription_id: string }>(RECORD_DELIVERED, [
      ...common(outcomes),
      outcomes.map(({ othersWait }) => othersWait),
    ]);
    return rows.map((row) => row.subscription_id);
  }

  private async recordFailed(outcomes: Outcome[]): Promise<string[]> {
    const rows = await this.database.query<{ subscription_id: string }>(RECORD_FAILED, [
      ...common(outcomes),
      outcomes.map(({ retry }) => retry),
      outcomes.map(({ probe, partnerUrl, result, busy }) =>
        JSON.stringify({
          failure: result.failure,
          http_status: result.httpStatus,
          probe,
          partner_level: isPartnerLevel(result),
          reason: result.reason,
          // The random factor keeps partners that failed together from being probed together.
          stretch: 1 + Math.random() / 10,
          busy: busy !== null,
          retry_after_s: busy?.waitS ?? result.retryAfterS,
          good: busy?.good ?? 0,
          partner_url: partnerUrl,
        }),
      ),
      this.config.retryScheduleS,
    ]);
    return rows.map((row) => row.subscription_id);
  }

  private async giveBack(items: Claimed[]): Promise<void> {
    const [partners, tokens] = [items.map((item) => item.subscription_id), items.map((item) => item.lease_token)];
    try {
      await this.database.execute(RELEASE, [partners, items.map((item) => item.position), tokens]);
      if (items.some(({ down }) => down)) await this.database.execute(RELEASE_PROBE, [partners, tokens]);
    } catch (error) {
      // If the release fails, the error is only logged, because the leases of the notifications expire anyway.
      this.logger.warn({ err: error }, 'claimed notifications could not be released');
    }
  }
}

function common(outcomes: Outcome[]): unknown[] {
  return [
    outcomes.map(({ item }) => item.subscription_id),
    outcomes.map(({ item }) => item.position),
    outcomes.map(({ item }) => item.lease_token),
    outcomes.map(({ item }) => item.trigger),
    outcomes.map(({ item }) => item.job_id),
    outcomes.map(({ item }) => item.down),
    outcomes.map(({ at, result }) => later(at, result.beganMs)),
    outcomes.map(({ result }) => result.durationMs),
    outcomes.map(({ result }) => result.excerpt),
    outcomes.map(earlierOf),
  ];
}

function later(at: Date, ms: number): Date {
  return ms === 0 ? at : new Date(at.getTime() + ms);
}

/** Returns the earlier HTTP requests of an attempt as JSON for the SQL statements; null if there were none. */
function earlierOf({ at, result: { earlier } }: Outcome): string | null {
  if (earlier.length === 0) return null;
  return JSON.stringify(
    earlier.map(({ beganMs, durationMs, httpStatus, failure, reason, excerpt }) => ({
      at: later(at, beganMs),
      duration_ms: durationMs,
      http_status: httpStatus,
      failure,
      reason,
      excerpt,
    })),
  );
}

/** Returns the log entry of a failed attempt. */
export function failureLine({ item, result, retry }: Outcome): object {
  return {
    notification_id: item.id,
    subscription_id: item.subscription_id,
    failure: result.failure,
    http_status: result.httpStatus,
    reason: result.reason,
    retry,
    duration_ms: result.durationMs,
  };
}
