import { AsyncResource } from 'node:async_hooks';
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
import { leaseToken, MAY_START_MS } from './delivery-lease.js';
import { CLAIM, CLAIM_PROBES, FIND_WORK, type Claimed } from './delivery-statements.js';
import { ReplicationGate } from './replication-gate.js';
import { isOverload, retryAfter } from './outcome.rules.js';
import { tracedPut } from './traced-put.js';
import { failureLine, OutcomeWriter, type Outcome } from './outcome-writer.js';
import { PartnerClient, type AttemptOutcome } from '../partner/partner-client.js';
import { AttemptNotBegun } from '../partner/partner-connection.js';
import { RacePoints } from '../race-points.js';
import { PartnerDirectory, type PartnerProfile } from '../subscriptions/partner-directory.js';

/**
 * Sends what is due.
 *
 * 1. `wake(ids)` says that there is something to claim for these partners: it was just made, or a sweep found it. What is
 *    made for a partner that is ready for it comes claimed, by `take`.
 * 2. One claim at a time fetches for all partners that want more, while attempts with what is there already run.
 * 3. Attempts start in turn of the partners (delivery-lanes.ts); what grew too old in the queue is given back unsent.
 * 4. Outcomes are recorded in batches (outcome-writer.ts). An outcome that turns a partner DOWN halts its lane at once:
 *    the rest of the lane is given back after that is recorded, never before.
 * 5. Items of bulk jobs ask whether they may begin when their turn has come (job-gate.ts).
 * 6. When a subscription is changed, what has not begun is given back, also what a claim under way may still bring, and
 *    what has begun is marked so: suspend answers when nothing is left that could begin (attempts-under-way.ts).
 * 7. What was claimed is used once the standbys have it (replication-gate.ts); while they do not, nothing is claimed.
 * 8. `drain()` stops claiming, gives back what has not been started, and waits for what has.
 *
 * The database keeps the truth (delivery-statements.ts): whatever is lost here is claimed again when its lease lapses.
 */
@Injectable()
export class DeliveryLoop {
  private readonly lanes: Lanes<Held>;
  private readonly writer: OutcomeWriter;
  private readonly gate: JobGate;
  /** Called when attempts of bulk jobs have been recorded. */
  onJobProgress: () => void = () => undefined;
  /** Outside of any request: what is done here belongs to none. */
  private readonly claim = AsyncResource.bind((): void => void this.claimOnce());
  private claiming = false;
  private running = false;
  private readonly underWay: AttemptsUnderWay;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly directory: PartnerDirectory,
    private readonly client: PartnerClient,
    private readonly metrics: DeliveryMetrics,
    private readonly races: RacePoints,
    private readonly clock: Clock,
    private readonly replication: ReplicationGate,
  ) {
    this.lanes = new Lanes(config.notificationConcurrency, config.notificationConcurrencyPerPartner);
    metrics.attemptsInFlight = () => this.lanes.inFlight;
    this.gate = new JobGate(database, logger);
    this.underWay = new AttemptsUnderWay(database, logger);
    this.writer = new OutcomeWriter(database, config, logger, races, (outcomes, freed) =>
      this.recorded(outcomes, freed),
    );
  }

  get isRunning(): boolean {
    return this.running;
  }

  start(): void {
    this.running = true;
  }

  /** There may be something to send to these partners. */
  wake(subscriptionIds: readonly string[]): void {
    if (!this.running) return;
    for (const id of subscriptionIds) this.lanes.of(id).wake();
    this.claim();
  }

  /** The partners to whom so many notifications could be sent at once, and for whom nothing else waits. */
  readyFor(count: number): string[] {
    return this.running && this.replication.isOpen
      ? [...this.lanes.all()].filter((lane) => lane.isReadyFor(count)).map((lane) => lane.id)
      : [];
  }

  /** Takes over what was claimed as it was made, not before `claimedAt`. */
  async take(rows: Claimed[], claimedAt: number): Promise<void> {
    if (rows.length === 0) return;
    if (!(await this.mayBeTold(rows))) return;
    await this.fill(rows, new Map(rows.map((row) => [this.lanes.of(row.subscription_id), Infinity])), claimedAt);
    this.startWhatMay();
  }

  /** The subscription was changed: what was claimed under its old settings is given back. */
  changed(subscriptionId: string): void {
    const lane = this.lanes.of(subscriptionId);
    lane.staleBefore = performance.now();
    this.writer.release(lane.empty());
    this.writer.release(this.underWay.revoke((item) => item.subscription_id === subscriptionId));
    this.wake([subscriptionId]);
  }

  /** Looks after the attempts under way; several times a second. */
  look(): void {
    const now = performance.now();
    this.writer.release(this.underWay.look(now));
    this.lanes.look(now);
    this.startWhatMay();
  }

  /** Looks for work in the database: what other processes made or left. */
  async findWork(): Promise<void> {
    if (!(await this.replication.reopens())) return;
    const rows = await this.database.query<{ id: string }>(FIND_WORK);
    this.wake(rows.map((row) => row.id));
    this.giveBackOld();
  }

  /** Sends the probes that are due. */
  async probe(): Promise<void> {
    const room = this.lanes.roomForProbes(this.underWay.probes);
    if (!this.running || !this.replication.isOpen || room <= 0) return;
    const claimedAt = performance.now();
    const rows = await this.database.query<Claimed>(CLAIM_PROBES, [this.config.notificationWaitMs, room, leaseToken()]);
    if (rows.length > 0) await this.races.reached('probe claimed');
    if (!(await this.mayBeTold(rows))) return;
    await this.directory.learn(rows);
    for (const row of rows) {
      const profile = this.directory.known(row.subscription_id, row.version);
      const item = heldFrom(row, claimedAt, true);
      const lane = this.lanes.of(row.subscription_id);
      if (profile !== null && claimedAt >= lane.staleBefore) this.attempt(lane, item, profile);
      else this.writer.release([item]);
    }
  }

  /** The partners of which something is kept here. */
  known(): string[] {
    return [...this.lanes.all()].map(({ id }) => id);
  }

  /** The partner is gone. */
  forget(id: string): void {
    for (const part of [this.lanes, this.directory, this.metrics]) part.forget(id);
  }

  /** Ends in about `graceMs` at most; attempts that take longer are left to their leases. */
  async drain(graceMs: number): Promise<void> {
    this.running = false;
    for (const lane of this.lanes.all()) this.writer.release(lane.empty());
    const giveUpAt = performance.now() + graceMs;
    while ((this.lanes.inFlight > 0 || this.claiming) && performance.now() < giveUpAt)
      await new Promise((resolve) => setTimeout(resolve, 5));
    const late = new Promise<void>((resolve) =>
      setTimeout(resolve, Math.max(500, giveUpAt - performance.now())).unref(),
    );
    await Promise.race([this.writer.idle(), late]);
    this.writer.stop();
  }

  private async claimOnce(): Promise<void> {
    if (this.claiming || !this.running || !this.replication.isOpen) return;
    const wanting = [...this.lanes.all()].filter((lane) => lane.room > 0);
    if (wanting.length === 0) return;
    const rooms = new Map(wanting.map((lane) => [lane, lane.room]));
    this.claiming = true;
    // A wake that comes while the claim runs must not be lost.
    for (const lane of wanting) lane.claiming();
    try {
      const claimedAt = performance.now();
      const values = [wanting.map(({ id }) => id), [...rooms.values()], this.config.notificationWaitMs, leaseToken()];
      const rows = await this.database.query<Claimed>(CLAIM, values);
      if (rows.length > 0) await this.races.reached('claimed');
      await this.fill((await this.mayBeTold(rows)) ? rows : [], rooms, claimedAt);
    } catch (error) {
      // The sweep wakes again.
      this.logger.warn({ err: error }, 'notifications could not be claimed');
      return;
    } finally {
      this.claiming = false;
    }
    this.startWhatMay();
    this.claim();
  }

  /** Whether partners may be told of what was claimed; else it is given back. */
  private async mayBeTold(rows: readonly Claimed[]): Promise<boolean> {
    const may = rows.length === 0 || (await this.replication.confirmed().catch(() => false));
    if (!may) this.writer.release([...rows]);
    return may;
  }

  /** @param rooms how many were asked for */
  private async fill(rows: Claimed[], rooms: ReadonlyMap<Lane<Held>, number>, claimedAt: number): Promise<void> {
    const held = heldByPartner(rows, claimedAt);
    await this.directory.learn(rows);
    for (const [lane, room] of rooms) {
      const items = held.get(lane.id) ?? [];
      // The partner has gone DOWN since these were claimed, or its settings were changed.
      const stale = lane.mode === 'HALTED' || claimedAt < lane.staleBefore;
      if (stale) this.writer.release(items);
      lane.fill(stale ? [] : items, room, lane.inFlight > 0 || this.writer.isBusy);
      if (items[0]) lane.partnerChangedAt(items[0].health_changed_at?.getTime() ?? null, this.clock.now().getTime());
      this.lanes.enqueue(lane);
    }
    if (!this.running) for (const lane of rooms.keys()) this.writer.release(lane.empty());
  }

  private startWhatMay(): void {
    for (let lane = this.lanes.next(); lane !== null; lane = this.lanes.next()) this.startNext(lane);
  }

  private startNext(lane: Lane<Held>): void {
    const item = lane.take()!;
    const profile = this.directory.known(item.subscription_id, item.version);
    // Too old to be sent within its lease, or claimed under other settings than the present. The sweep wakes again.
    if (profile === null || performance.now() - item.claimedAt > MAY_START_MS)
      this.writer.release([item, ...lane.empty()]);
    else this.attempt(lane, item, profile);
  }

  private attempt(lane: Lane<Held>, item: Held, profile: PartnerProfile): void {
    const attempt = this.lanes.started(lane, performance.now());
    this.underWay.add(item);
    const at = this.clock.now();
    this.send(item, profile).then(
      (result) => {
        const retry = result.delivered ? null : retryAfter(result, profile.autoRetryOn);
        const outcome = { item, probe: item.probe, at, result, retry };
        // What was given back before it began has no outcome here.
        this.ended(lane, item, attempt, item.progress === 'REVOKED' ? null : outcome);
      },
      (error: unknown) => {
        // Our own fault, not the partner's: the event keeps its place.
        if (!(error instanceof AttemptNotBegun))
          this.logger.error({ err: error, subscription_id: lane.id }, 'an attempt broke off');
        if (item.progress !== 'REVOKED') this.writer.release([item]);
        // It may have been in the way of others of its booking.
        if (item.job_id !== null) lane.wake();
        this.ended(lane, item, attempt, null);
      },
    );
  }

  private async send(item: Held, profile: PartnerProfile): Promise<AttemptOutcome> {
    if (item.job_id !== null && !(await this.gate.mayBegin(item))) throw new AttemptNotBegun();
    if (item.progress === 'REVOKED' || performance.now() - item.claimedAt > MAY_START_MS) throw new AttemptNotBegun();
    return tracedPut(item.traceparent, profile.headers(item, this.clock.now().getTime()), (headers) =>
      this.client.put(profile.endpoint, headers, item.body, () => this.underWay.begin(item)),
    );
  }

  private ended(lane: Lane<Held>, item: Held, attempt: Attempt, outcome: Outcome | null): void {
    this.underWay.delete(item);
    const answered = outcome === null ? null : !isOverload(outcome.result);
    this.lanes.ended(lane, attempt, answered, performance.now());
    if (outcome !== null) {
      const { result, retry } = outcome;
      this.metrics.attempted(item.subscription_id, result);
      if (result.delivered) lane.succeeded();
      else this.logger.info(failureLine(outcome), 'notification not delivered');
      if (isOverload(result)) lane.overloaded();
      if (retry === 'AUTO') lane.halt();
      this.writer.add(outcome);
      if (retry === 'AUTO') this.writer.release(lane.empty());
    }
    this.startWhatMay();
    if (lane.room > 0) this.claim();
  }

  private recorded(outcomes: readonly Outcome[], freed: readonly string[]): void {
    for (const { item, retry } of outcomes) {
      const lane = this.lanes.of(item.subscription_id);
      if (retry === 'AUTO') lane.resume();
      // The partner is back.
      else if (retry === null && item.down) lane.wake();
      lane.unstall();
    }
    this.wake(freed);
    this.claim();
    if (outcomes.some(({ item }) => item.job_id !== null)) this.onJobProgress();
  }

  private giveBackOld(): void {
    const oldest = performance.now() - MAY_START_MS;
    for (const lane of this.lanes.all()) {
      if ((lane.first()?.claimedAt ?? Infinity) < oldest) this.writer.release(lane.empty());
    }
  }
}
