import { AsyncResource } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Config } from '../../config.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Logger } from '../../platform/observability/logger.js';
import { AttemptsUnderWay, heldByPartner, heldFrom, type Held } from './attempts-under-way.js';
import type { Attempt, Lane } from './delivery-lane.js';
import { Lanes } from './delivery-lanes.js';
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

/**
 * Sends due notifications.
 *
 * 1. `wake(ids)` says that notifications of these partners may be due: they were just created, or a sweep found them. A
 *    new notification for a ready partner arrives already claimed, by `take`.
 * 2. One claim at a time serves all partners that need more, while attempts of earlier claims run.
 * 3. Partners start attempts in turn (delivery-lanes.ts). Items that waited too long in the queue are released unsent.
 * 4. Outcomes are recorded in batches (outcome-writer.ts). An outcome that turns a partner DOWN halts its queue at
 *    once. The rest of the queue is released after that outcome is recorded, never before.
 * 5. Every attempt to a busy or paced partner waits for its moment (pace-keeper.ts): first attempts, probes and
 *    operators' resends alike. A "busy" answer closes the queue at once, also in other processes.
 * 6. Items of bulk jobs ask for permission just before they start (job-gate.ts).
 * 7. After a change of a subscription, attempts that have not started are released, including those of a running claim.
 *    Started attempts are marked as begun. Suspending answers when nothing can start any more (attempts-under-way.ts).
 * 8. Claimed items are sent once the standbys have their rows (replication-gate.ts). Until then nothing is claimed.
 * 9. `drain()` stops claiming, releases attempts that have not started, and waits for started ones.
 *
 * The database is the truth (delivery-statements.ts): whatever is lost here is claimed again when its lease expires.
 */
@Injectable()
export class DeliveryLoop {
  private readonly lanes: Lanes<Held>;
  private readonly writer: OutcomeWriter;
  private readonly sender: AttemptSender;
  private readonly claims: Claims;
  private readonly paces: PaceKeeper<Held>;
  /** Called with partners that answered that they are busy. */
  onBusy: (subscriptionIds: string[]) => void = () => undefined;
  /** Called when attempts of bulk jobs have been recorded. */
  onJobProgress: () => void = () => undefined;
  /** Claims run outside the context of a request, because they belong to none. */
  private readonly claim = AsyncResource.bind((): void => void this.claimOnce());
  private claiming = false;
  private running = false;
  private readonly underWay: AttemptsUnderWay;

  constructor(
    config: Config,
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly directory: PartnerDirectory,
    client: PartnerClient,
    private readonly metrics: DeliveryMetrics,
    races: RacePoints,
    private readonly clock: Clock,
    private readonly replication: ReplicationGate,
  ) {
    this.paces = new PaceKeeper(database, logger, (lane) => this.opened(lane));
    this.lanes = new Lanes(config.notificationConcurrency, config.notificationConcurrencyPerPartner, (lane) =>
      this.paces.arrange(lane),
    );
    metrics.attemptsInFlight = () => this.lanes.inFlight;
    this.underWay = new AttemptsUnderWay(database, logger);
    this.sender = new AttemptSender(client, this.underWay, new JobGate(database, logger), logger);
    this.writer = new OutcomeWriter(database, config, logger, races, (outcomes, freed) =>
      this.recorded(outcomes, freed),
    );
    this.claims = new Claims(config, database, races, replication, (rows) => this.writer.release(rows));
  }

  get isRunning(): boolean {
    return this.running;
  }

  start(): void {
    this.running = true;
  }

  /** Starts a claim, because these partners may have due notifications. */
  wake(subscriptionIds: readonly string[]): void {
    if (!this.running) return;
    for (const id of subscriptionIds) this.lanes.of(id).wake();
    this.claim();
  }

  /** Returns the partners whose queue is empty and that could get this many notifications at once. */
  readyFor(count: number): string[] {
    return this.running && this.replication.isOpen ? this.lanes.readyFor(count) : [];
  }

  /** Accepts notifications that were claimed at their creation. Their leases began no earlier than `claimedAt`. */
  async take(rows: Claimed[], claimedAt: number): Promise<void> {
    if (rows.length === 0) return;
    if (!(await this.claims.mayBeTold(rows))) return;
    await this.fill(rows, new Map(rows.map((row) => [this.lanes.of(row.subscription_id), Infinity])), claimedAt);
    this.startWhatMay();
  }

  /** Releases attempts that were claimed under old settings of the subscription. A new address also lifts a pause. */
  changed(subscriptionId: string, isNewAddress: boolean): void {
    const lane = this.lanes.of(subscriptionId);
    lane.changed(isNewAddress);
    this.writer.release(lane.empty());
    this.writer.release(this.underWay.revoke((item) => item.subscription_id === subscriptionId));
    if (isNewAddress) this.paces.lookAgain(lane);
    this.wake([subscriptionId]);
  }

  /** Closes the queue of a partner that answered another process that it is busy. */
  busy(subscriptionId: string): void {
    const lane = this.lanes.of(subscriptionId);
    lane.pace.close(performance.now());
    this.writer.release(lane.empty());
    this.paces.arrange(lane);
  }

  /** Checks all waiting queues again, after the sandbox's clock was moved. */
  timeMoved(): void {
    for (const lane of this.lanes.all()) this.paces.lookAgain(lane);
  }

  /** Checks the running attempts; called several times a second. */
  look(): void {
    const now = performance.now();
    this.writer.release(this.underWay.look(now));
    this.lanes.look(now);
    this.startWhatMay();
  }

  /** Finds due notifications in the database, including those that other processes created. */
  async findWork(): Promise<void> {
    if (!(await this.replication.reopens())) return;
    const rows = await this.database.query<{ id: string }>(FIND_WORK);
    this.wake(rows.map((row) => row.id));
    const oldest = performance.now() - MAY_START_MS;
    for (const lane of this.lanes.all())
      if ((lane.first()?.claimedAt ?? Infinity) < oldest) this.writer.release(lane.empty());
  }

  /** Sends the probes that are due. */
  async probe(): Promise<void> {
    const room = this.lanes.roomForProbes(this.underWay.probes);
    if (!this.running || !this.replication.isOpen || room <= 0) return;
    const { rows, claimedAt } = await this.claims.probes(room);
    await this.directory.learn(rows);
    for (const row of rows) {
      const profile = this.directory.known(row.subscription_id, row.version);
      const item = heldFrom(row, claimedAt, true);
      const lane = this.lanes.of(row.subscription_id);
      if (profile !== null && claimedAt >= lane.staleBefore) this.attempt(lane, item, profile);
      else this.writer.release([item]);
    }
  }

  /** Returns the ids of the partners with a queue in this process. */
  readonly known = (): string[] => [...this.lanes.all()].map(({ id }) => id);

  /** Removes the queue and the metrics of a deleted partner. */
  forget(id: string): void {
    this.paces.forget(this.lanes.of(id));
    for (const part of [this.lanes, this.directory, this.metrics]) part.forget(id);
  }

  /**
   * Stops the loop. It first waits for the started attempts until their deadlines, because a partner's 200 counts. Then
   * it waits at most `graceMs` until their outcomes are recorded.
   */
  async drain(graceMs: number): Promise<void> {
    this.running = false;
    for (const lane of this.lanes.all()) this.writer.release(lane.empty());
    this.writer.release(this.underWay.revoke(() => true));
    while (this.lanes.inFlight > 0 || this.claiming) await pause(5);
    await Promise.race([this.writer.idle(), pause(Math.max(500, graceMs), undefined, { ref: false })]);
    this.writer.stop();
  }

  private async claimOnce(): Promise<void> {
    const wanting = [...this.lanes.all()].filter((lane) => lane.room > 0);
    if (this.claiming || !this.running || !this.replication.isOpen || wanting.length === 0) return;
    const rooms = new Map(wanting.map((lane) => [lane, lane.room]));
    this.claiming = true;
    // The queue's state changes before the claim, so that a wake during the claim is not lost.
    for (const lane of wanting) lane.claiming();
    try {
      const { rows, claimedAt } = await this.claims.of(rooms);
      await this.fill(rows, rooms, claimedAt);
    } catch (error) {
      // The error is only logged: the next sweep wakes these partners again.
      this.logger.warn({ err: error }, 'notifications could not be claimed');
      return;
    } finally {
      this.claiming = false;
    }
    this.startWhatMay();
    this.claim();
  }

  /** @param rooms the number that was requested for each partner */
  private async fill(rows: Claimed[], rooms: ReadonlyMap<Lane<Held>, number>, claimedAt: number): Promise<void> {
    const held = heldByPartner(rows, claimedAt);
    await this.directory.learn(rows);
    for (const [lane, room] of rooms) {
      const items = held.get(lane.id) ?? [];
      // Since the claim, the partner has gone DOWN or its settings have changed.
      const stale = lane.mode === 'HALTED' || claimedAt < lane.staleBefore;
      if (stale) this.writer.release(items);
      lane.fill(stale ? [] : items, room, lane.inFlight > 0 || this.writer.isBusy);
      const pace = stale ? null : (items[0]?.pace ?? null);
      if (pace !== null) lane.pace.bound(pace);
      if (items[0]) lane.partnerChangedAt(items[0].health_changed_at?.getTime() ?? null, this.clock.now().getTime());
      this.lanes.enqueue(lane);
    }
    if (!this.running) for (const lane of rooms.keys()) this.writer.release(lane.empty());
  }

  private opened(lane: Lane<Held>): void {
    if (lane.waiting > 0) this.lanes.enqueue(lane);
    else this.wake([lane.id]);
    this.startWhatMay();
  }

  private startWhatMay(): void {
    for (let lane = this.lanes.next(); lane !== null; lane = this.lanes.next()) this.startNext(lane);
  }

  private startNext(lane: Lane<Held>): void {
    const item = lane.take()!;
    const profile = this.directory.known(item.subscription_id, item.version);
    // The item is too old for its lease, or has old settings. The next sweep wakes the partner again.
    if (profile === null || performance.now() - item.claimedAt > MAY_START_MS)
      this.writer.release([item, ...lane.empty()]);
    else this.attempt(lane, item, profile);
  }

  private attempt(lane: Lane<Held>, item: Held, profile: PartnerProfile): void {
    const attempt = this.lanes.started(lane, performance.now());
    this.underWay.add(item);
    const at = this.clock.now();
    void this.sender.send(item, profile, lane).then((result) => {
      const isOurs = item.progress !== 'REVOKED';
      if (result === null && isOurs) this.writer.release([item]);
      // The item of the job may have blocked other items of its booking.
      if (result === null && item.job_id !== null) lane.wake();
      // An item that was released before it started has no outcome.
      this.ended(lane, item, attempt, result && isOurs ? judged(item, at, result, profile, lane) : null);
    });
  }

  private ended(lane: Lane<Held>, item: Held, attempt: Attempt, outcome: Outcome | null): void {
    this.underWay.delete(item);
    const answered = outcome === null ? null : !isOverload(outcome.result);
    this.lanes.ended(lane, attempt, answered, performance.now());
    if (outcome !== null) {
      const { result, retry, busy } = outcome;
      const stops = (retry === 'AUTO' || busy !== null) && item.claimedAt >= lane.movedAt;
      this.metrics.attempted(item.subscription_id, result);
      if (result.delivered) lane.succeeded();
      else this.logger.info(failureLine(outcome), 'notification not delivered');
      if (isOverload(result)) lane.overloaded();
      if (busy !== null && stops) lane.pace.close(performance.now() + busy.waitS * 1000);
      if (stops) lane.halt();
      this.writer.add(outcome);
      if (stops) this.writer.release(lane.empty());
    }
    this.startWhatMay();
    if (lane.room > 0) this.claim();
  }

  private recorded(outcomes: readonly Outcome[], freed: readonly string[]): void {
    const busy = new Set<string>();
    for (const { item, retry, busy: isBusyNow } of outcomes) {
      const lane = this.lanes.of(item.subscription_id);
      if (isBusyNow !== null) busy.add(lane.id);
      if (retry === 'AUTO' || isBusyNow !== null) lane.resume();
      // This delivery means that the partner is up again.
      else if (retry === null && item.down) lane.wake();
      lane.unstall();
    }
    for (const id of busy) this.paces.arrange(this.lanes.of(id));
    if (busy.size > 0) this.onBusy([...busy]);
    this.wake(freed);
    this.claim();
    if (outcomes.some(({ item }) => item.job_id !== null)) this.onJobProgress();
  }
}
