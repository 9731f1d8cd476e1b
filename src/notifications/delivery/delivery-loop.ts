import { AsyncResource } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { NotificationsConfig } from '../notifications.config.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Logger } from '../../platform/observability/logger.js';
import { AttemptsUnderWay, heldByPartner, heldFrom, type Held } from './attempts-under-way.js';
import type { Attempt, PartnerQueue } from './partner-queue.js';
import { PartnerQueues } from './partner-queues.js';
import { ClockWatch } from './clock-watch.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { JobGate } from './job-gate.js';
import { MAY_START_MS } from './delivery-lease.js';
import { Claims } from './delivery-claims.js';
import { FIND_WORK, type Claimed } from './delivery-statements.js';
import { ReplicationGate } from './replication-gate.js';
import { AttemptSender, judged } from './attempt-sender.js';
import { isOverload } from './outcome.rules.js';
import { PaceKeeper } from './pace-keeper.js';
import { failureLine, OutcomeWriter, type Outcome } from './outcome-writer.js';
import { PartnerClient } from '../partner/partner-client.js';
import { RacePoints } from '../race-points.js';
import { PartnerDirectory, type PartnerProfile } from '../subscriptions/partner-directory.js';

type Queue = PartnerQueue<Held>;

/**
 * Sends due notifications.
 *
 * 1. `wake(ids)` reports that these partners may have due notifications, because a notification was just created or a
 *    sweep found one. `take` accepts notifications that were claimed at their creation, for ready partners.
 * 2. A single claim serves all partners that need more notifications. Meanwhile, attempts of earlier claims run.
 * 3. The queues start attempts in turn (partner-queues.ts). Items that waited too long in a queue are released unsent.
 * 4. Outcomes are recorded in batches (outcome-writer.ts). An outcome that makes a partner DOWN halts the partner's
 *    queue immediately. The remaining items of the queue are released after that outcome is recorded, never before.
 * 5. Every attempt to a busy or paced partner, even a probe or an operator's resend, needs a reserved send time
 *    (pace-keeper.ts). A "busy" response closes the partner's queue at once, in all processes.
 * 6. Just before an item of a bulk job is sent, the loop asks whether it may still be sent (job-gate.ts).
 * 7. After a change to a subscription, items whose attempts have not started are released, including those of a running
 *    claim. Started attempts are marked as begun. A request that suspends a partner is answered when no attempt can
 *    start any more (attempts-under-way.ts).
 * 8. Claimed items are sent after the standbys have their rows (replication-gate.ts). If standbys lag, claims stop.
 *
 * The database is authoritative (delivery-statements.ts): after a crash, leases expire, and rows are claimed again.
 */
@Injectable()
export class DeliveryLoop {
  private readonly queues: PartnerQueues<Held>;
  private readonly writer: OutcomeWriter;
  private readonly sender: AttemptSender;
  private readonly claims: Claims;
  private readonly paces: PaceKeeper<Held>;
  /** Called with the ids of the partners that have just answered that they are busy. */
  onBusy: (subscriptionIds: string[]) => void = () => undefined;
  /** Called when the outcomes of bulk jobs' attempts have been recorded. */
  onJobProgress: () => void = () => undefined;
  /** Starts a claim outside the context of the current HTTP request, because one claim serves many requests. */
  private readonly claim = AsyncResource.bind((): void => void this.claimOnce());
  private claiming = false;
  isRunning = false;
  private readonly underWay: AttemptsUnderWay;

  constructor(
    config: NotificationsConfig,
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly directory: PartnerDirectory,
    client: PartnerClient,
    private readonly metrics: DeliveryMetrics,
    races: RacePoints,
    private readonly clock: Clock,
    private readonly replication: ReplicationGate,
    clockWatch: ClockWatch,
  ) {
    this.paces = new PaceKeeper(database, logger, (queue) => this.opened(queue));
    this.queues = new PartnerQueues(config.concurrency, config.concurrencyPerPartner, (queue) =>
      this.paces.arrange(queue),
    );
    metrics.attemptsInFlight = () => this.queues.inFlight;
    this.underWay = new AttemptsUnderWay(database, logger);
    this.sender = new AttemptSender(client, this.underWay, new JobGate(database, logger), logger);
    this.writer = new OutcomeWriter(database, config, logger, races, (outcomes, freed) =>
      this.recorded(outcomes, freed),
    );
    this.claims = new Claims(config, database, races, replication, clockWatch, (rows) => this.writer.release(rows));
  }

  start(): void {
    this.isRunning = true;
  }

  /** Starts a claim for the given partners, which may have due notifications. */
  wake(subscriptionIds: readonly string[]): void {
    if (!this.isRunning) return;
    for (const id of subscriptionIds) this.queues.of(id).wake();
    this.claim();
  }

  /** Returns the partners that have an empty queue and can get `count` notifications immediately. */
  readyFor(count: number): string[] {
    return this.isRunning && this.replication.isOpen ? this.queues.readyFor(count) : [];
  }

  /** Accepts notifications that were claimed at their creation. Their leases began no earlier than `claimedAt`. */
  async take(rows: Claimed[], claimedAt: number): Promise<void> {
    if (rows.length === 0) return;
    if (!(await this.claims.areReplicated(rows))) return;
    await this.fill(rows, new Map(rows.map((row) => [this.queues.of(row.subscription_id), Infinity])), claimedAt);
    this.startAllowed();
  }

  /** Releases notifications claimed under old settings. A new address also ends the partner's "busy" pause. */
  changed(subscriptionId: string, isNewAddress: boolean): void {
    const queue = this.queues.of(subscriptionId);
    queue.changed(isNewAddress);
    this.writer.release(queue.empty());
    this.writer.release(this.underWay.revoke((item) => item.subscription_id === subscriptionId));
    if (isNewAddress) this.paces.checkAgain(queue);
    this.wake([subscriptionId]);
  }

  /** Closes the queue of a partner that sent a "busy" response to another process. */
  busy(subscriptionId: string): void {
    const queue = this.queues.of(subscriptionId);
    queue.pace.close(performance.now());
    this.writer.release(queue.empty());
    this.paces.arrange(queue);
  }

  /** Checks the queues of all partners again, after the sandbox's clock was moved. */
  timeMoved(): void {
    for (const queue of this.queues.all()) this.paces.checkAgain(queue);
  }

  /** Revokes attempts after a pause of this process, and finds hanging partners. Called several times a second. */
  check(): void {
    const now = performance.now();
    this.writer.release(this.underWay.check(now));
    this.queues.check(now);
    this.startAllowed();
  }

  /** Finds due notifications in the database, including those that other processes created. */
  async findWork(): Promise<void> {
    if (!(await this.replication.reopens())) return;
    const rows = await this.database.query<{ id: string }>(FIND_WORK);
    this.wake(rows.map((row) => row.id));
    const oldest = performance.now() - MAY_START_MS;
    for (const queue of this.queues.all())
      if ((queue.first()?.claimedAt ?? Infinity) < oldest) this.writer.release(queue.empty());
  }

  /** Sends a probe to each DOWN partner whose probe is due. */
  async probe(): Promise<void> {
    const capacity = this.queues.probeCapacity(this.underWay.probes);
    if (!this.isRunning || !this.replication.isOpen || capacity <= 0) return;
    const { rows, claimedAt } = await this.claims.probes(capacity);
    await this.directory.learn(rows);
    for (const row of rows) {
      const profile = this.directory.known(row.subscription_id, row.version);
      const item = heldFrom(row, claimedAt, true);
      const queue = this.queues.of(row.subscription_id);
      if (profile !== null && claimedAt >= queue.staleBefore) this.attempt(queue, item, profile);
      else this.writer.release([item]);
    }
  }

  /** Returns the ids of the partners with a queue in this process. */
  readonly known = (): string[] => [...this.queues.all()].map(({ id }) => id);

  /** Removes the queue and the metrics of a deleted partner. */
  forget(id: string): void {
    this.paces.forget(this.queues.of(id));
    for (const part of [this.queues, this.directory, this.metrics]) part.forget(id);
  }

  /**
   * Stops the loop. The loop first waits until all running attempts have ended or timed out, because a late 200 still
   * counts. Then it waits at most `graceMs` until the outcomes are recorded.
   */
  async drain(graceMs: number): Promise<void> {
    this.isRunning = false;
    for (const queue of this.queues.all()) this.writer.release(queue.empty());
    this.writer.release(this.underWay.revoke(() => true));
    while (this.queues.inFlight > 0 || this.claiming) await pause(5);
    await Promise.race([this.writer.idle(), pause(Math.max(500, graceMs), undefined, { ref: false })]);
    this.writer.stop();
  }

  private async claimOnce(): Promise<void> {
    const wanting = [...this.queues.all()].filter((queue) => queue.capacity > 0);
    if (this.claiming || !this.isRunning || !this.replication.isOpen || wanting.length === 0) return;
    const capacities = new Map(wanting.map((queue) => [queue, queue.capacity]));
    this.claiming = true;
    // Each queue's state is changed before the claim starts, so that a wake-up during the claim is not lost.
    for (const queue of wanting) queue.claiming();
    try {
      const { rows, claimedAt } = await this.claims.of(capacities);
      await this.fill(rows, capacities, claimedAt);
    } catch (error) {
      // A failed claim is only logged, because the next sweep wakes the queues of the affected partners again.
      this.logger.warn({ err: error }, 'notifications could not be claimed');
      return;
    } finally {
      this.claiming = false;
    }
    this.startAllowed();
    this.claim();
  }

  /** Queues the claimed notifications by partner. `capacities` contains the number requested for each partner. */
  private async fill(rows: Claimed[], capacities: ReadonlyMap<Queue, number>, claimedAt: number): Promise<void> {
    const held = heldByPartner(rows, claimedAt);
    await this.directory.learn(rows);
    for (const [queue, capacity] of capacities) {
      const items = held.get(queue.id) ?? [];
      // The claimed notifications are stale if the partner has gone DOWN, or its settings have changed, since the claim
      // began.
      const stale = queue.mode === 'HALTED' || claimedAt < queue.staleBefore;
      if (stale) this.writer.release(items);
      queue.fill(stale ? [] : items, capacity, queue.inFlight > 0 || this.writer.isBusy);
      const pace = stale ? null : (items[0]?.pace ?? null);
      if (pace !== null) queue.pace.bound(pace);
      if (items[0]) queue.partnerChangedAt(items[0].health_changed_at?.getTime() ?? null, this.clock.now().getTime());
      this.queues.enqueue(queue);
    }
    if (!this.isRunning) for (const queue of capacities.keys()) this.writer.release(queue.empty());
  }

  private opened(queue: Queue): void {
    if (queue.waiting > 0) this.queues.enqueue(queue);
    else this.wake([queue.id]);
    this.startAllowed();
  }

  private startAllowed(): void {
    for (let queue = this.queues.next(); queue !== null; queue = this.queues.next()) this.startNext(queue);
  }

  private startNext(queue: Queue): void {
    const item = queue.take()!;
    const profile = this.directory.known(item.subscription_id, item.version);
    // If too much of the lease has passed to start an attempt, or the partner's settings have changed, the queue is
    // emptied. The next sweep wakes the queue again.
    if (profile === null || performance.now() - item.claimedAt > MAY_START_MS)
      this.writer.release([item, ...queue.empty()]);
    else this.attempt(queue, item, profile);
  }

  private attempt(queue: Queue, item: Held, profile: PartnerProfile): void {
    const attempt = this.queues.started(queue, performance.now());
    this.underWay.add(item);
    const at = this.clock.now();
    void this.sender.send(item, profile, queue).then((result) => {
      const isOurs = item.progress !== 'REVOKED';
      if (result === null && isOurs) this.writer.release([item]);
      // While this notification was leased for a bulk job, it may have blocked other notifications of its booking.
      if (result === null && item.job_id !== null) queue.wake();
      this.ended(queue, item, attempt, result && isOurs ? judged(item, at, result, profile, queue) : null);
    });
  }

  private ended(queue: Queue, item: Held, attempt: Attempt, outcome: Outcome | null): void {
    this.underWay.delete(item);
    const answered = outcome === null ? null : !isOverload(outcome.result);
    this.queues.ended(queue, attempt, answered, performance.now());
    if (outcome !== null) {
      const { result, retry, busy } = outcome;
      const stops = (retry === 'AUTO' || busy !== null) && item.claimedAt >= queue.movedAt;
      this.metrics.attempted(item.subscription_id, result);
      if (result.delivered) queue.succeeded();
      else this.logger.info(failureLine(outcome), 'notification not delivered');
      if (isOverload(result)) queue.overloaded();
      if (busy !== null && stops) queue.pace.close(performance.now() + busy.waitS * 1000);
      if (stops) queue.halt();
      this.writer.add(outcome);
      if (stops) this.writer.release(queue.empty());
    }
    this.startAllowed();
    if (queue.capacity > 0) this.claim();
  }

  private recorded(outcomes: readonly Outcome[], freed: readonly string[]): void {
    const busy = new Set<string>();
    for (const { item, retry, busy: isBusyNow } of outcomes) {
      const queue = this.queues.of(item.subscription_id);
      if (isBusyNow !== null) busy.add(queue.id);
      if (retry === 'AUTO' || isBusyNow !== null) queue.resume();
      // A successful delivery to a DOWN partner shows that the partner is up again.
      else if (retry === null && item.down) queue.wake();
      queue.retryClaim();
    }
    for (const id of busy) this.paces.arrange(this.queues.of(id));
    if (busy.size > 0) this.onBusy([...busy]);
    this.wake(freed);
    this.claim();
    if (outcomes.some(({ item }) => item.job_id !== null)) this.onJobProgress();
  }
}
