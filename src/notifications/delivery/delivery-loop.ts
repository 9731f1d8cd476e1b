import { AsyncResource } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import { Config } from '../../config.js';
import { Database } from '../../platform/database/database.js';
import { Logger } from '../../platform/observability/logger.js';
import { Lanes, type Lane } from './delivery-lanes.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { JobGate } from './job-gate.js';
import { CLAIM, CLAIM_PROBES, FIND_WORK, MAY_START_MS, type Claimed } from './delivery-statements.js';
import { isOverload, retryAfter } from './outcome.rules.js';
import { OutcomeWriter, type Outcome } from './outcome-writer.js';
import { PartnerClient } from '../partner/partner-client.js';
import { RacePoints } from '../race-points.js';
import { PartnerDirectory, type PartnerProfile } from '../subscriptions/partner-directory.js';

/** A claimed notification and when, on the clock of this process, the claim was asked for: its lease is no older. */
interface Held extends Claimed {
  claimedAt: number;
  probe: boolean;
}

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
 * 6. `drain()` stops claiming, gives back what has not been started, and waits for what has.
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

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly directory: PartnerDirectory,
    private readonly client: PartnerClient,
    private readonly metrics: DeliveryMetrics,
    private readonly races: RacePoints,
  ) {
    this.lanes = new Lanes(config.notificationConcurrency, config.notificationConcurrencyPerPartner);
    metrics.attemptsInFlight = () => this.lanes.inFlight;
    this.gate = new JobGate(database, logger);
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
    for (const id of subscriptionIds) this.lanes.of(id).hungry = true;
    this.claim();
  }

  /** The partners to whom so many notifications could be sent at once, and for whom nothing else waits. */
  readyFor(count: number): string[] {
    return this.running ? [...this.lanes.all()].filter((lane) => lane.isReadyFor(count)).map((lane) => lane.id) : [];
  }

  /** Takes over what was claimed as it was made, not before `claimedAt`. */
  async take(rows: Claimed[], claimedAt: number): Promise<void> {
    if (rows.length === 0) return;
    await this.fill(rows, new Map(rows.map((row) => [this.lanes.of(row.subscription_id), Infinity])), claimedAt);
    this.startWhatMay();
  }

  /** The subscription was changed: what was claimed under its old settings is given back. */
  changed(subscriptionId: string): void {
    const lane = this.lanes.find(subscriptionId);
    if (lane) this.writer.release(lane.empty());
    this.wake([subscriptionId]);
  }

  /** Looks for work in the database: what other processes made or left. */
  async findWork(): Promise<void> {
    const rows = await this.database.query<{ id: string }>(FIND_WORK);
    this.wake(rows.map((row) => row.id));
    this.giveBackOld();
  }

  /** Sends the probes that are due. */
  async probe(): Promise<void> {
    if (!this.running) return;
    const claimedAt = performance.now();
    const rows = await this.database.query<Claimed>(CLAIM_PROBES, [this.config.notificationWaitMs]);
    await this.races.reached('probe claimed');
    for (const row of rows) {
      const profile = await this.profileOf(row);
      const item = { ...row, claimedAt, probe: true };
      if (profile?.version === row.version) this.attempt(this.lanes.of(row.subscription_id), item, profile);
      else this.writer.release([item]);
    }
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
  }

  private async claimOnce(): Promise<void> {
    if (this.claiming || !this.running) return;
    const wanting = [...this.lanes.all()].filter((lane) => lane.room > 0);
    if (wanting.length === 0) return;
    const rooms = new Map(wanting.map((lane) => [lane, lane.room]));
    this.claiming = true;
    // A wake that comes while the claim runs must not be lost.
    for (const lane of wanting) lane.hungry = false;
    try {
      const claimedAt = performance.now();
      const rows = await this.database.query<Claimed>(CLAIM, [
        wanting.map((lane) => lane.id),
        [...rooms.values()],
        this.config.notificationWaitMs,
      ]);
      await this.races.reached('claimed');
      await this.fill(rows, rooms, claimedAt);
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

  /** @param rooms how many were asked for */
  private async fill(rows: Claimed[], rooms: ReadonlyMap<Lane<Held>, number>, claimedAt: number): Promise<void> {
    // UPDATE returns rows in no order of its own.
    rows.sort((a, b) => a.position - b.position);
    const held = new Map<string, Held[]>();
    for (const row of rows) {
      const item: Held = Object.assign(row, { claimedAt, probe: false });
      const list = held.get(row.subscription_id);
      if (list) list.push(item);
      else held.set(row.subscription_id, [item]);
    }
    for (const items of held.values()) await this.profileOf(items[0]);
    for (const [lane, room] of rooms) {
      const items = held.get(lane.id) ?? [];
      // The partner has gone DOWN since these were claimed.
      if (lane.halted) this.writer.release(items);
      else lane.fill(items, room);
      lane.stalled = items.length === 0 && (lane.inFlight > 0 || this.writer.isBusy);
      if (items[0]) lane.partnerChangedAt(items[0].health_changed_at?.getTime() ?? null, Date.now());
      this.lanes.enqueue(lane);
    }
    if (!this.running) for (const lane of rooms.keys()) this.writer.release(lane.empty());
  }

  private async profileOf({ subscription_id, version }: Claimed): Promise<PartnerProfile | null> {
    try {
      return this.directory.known(subscription_id, version) ?? (await this.directory.load(subscription_id));
    } catch (error) {
      this.logger.error({ err: error, subscription_id }, 'the settings of a partner cannot be read');
      return null;
    }
  }

  private startWhatMay(): void {
    for (let lane = this.lanes.next(); lane !== null; lane = this.lanes.next()) this.startNext(lane);
  }

  private startNext(lane: Lane<Held>): void {
    const item = lane.take()!;
    const profile = this.directory.known(item.subscription_id, item.version);
    // Too old to be sent within its lease, or claimed under other settings than the present. The sweep wakes again.
    if (profile === null || performance.now() - item.claimedAt > MAY_START_MS) {
      this.writer.release([item, ...lane.empty()]);
    } else if (item.job_id === null) {
      this.attempt(lane, item, profile);
    } else {
      void this.attemptIfAllowed(lane, item, profile);
    }
  }

  /** The slot is taken meanwhile. */
  private async attemptIfAllowed(lane: Lane<Held>, item: Held, profile: PartnerProfile): Promise<void> {
    this.lanes.started(lane);
    const allowed = await this.gate.mayBegin(item);
    this.lanes.ended(lane);
    if (allowed && performance.now() - item.claimedAt <= MAY_START_MS) {
      this.attempt(lane, item, profile);
      return;
    }
    this.writer.release([item]);
    // It may have been in the way of others of its booking.
    lane.hungry = true;
    this.startWhatMay();
    this.claim();
  }

  private attempt(lane: Lane<Held>, item: Held, profile: PartnerProfile): void {
    this.lanes.started(lane);
    const at = new Date();
    this.client.put(profile.endpoint, profile.headers(item, at.getTime()), item.body).then(
      (result) => {
        const retry = result.delivered ? null : retryAfter(result, profile.autoRetryOn);
        this.ended(lane, { item, probe: item.probe, at, result, retry });
      },
      (error: unknown) => {
        // Our own fault, not the partner's: the event keeps its place.
        this.logger.error({ err: error, subscription_id: lane.id }, 'an attempt broke off');
        this.writer.release([item]);
        this.ended(lane, null);
      },
    );
  }

  private ended(lane: Lane<Held>, outcome: Outcome | null): void {
    this.lanes.ended(lane);
    if (outcome !== null) {
      const { result, retry } = outcome;
      this.metrics.attempted(result);
      if (result.delivered) lane.succeeded();
      else this.logFailure(outcome);
      if (isOverload(result)) lane.overloaded();
      if (retry === 'AUTO') lane.halted = true;
      this.writer.add(outcome);
      if (retry === 'AUTO') this.writer.release(lane.empty());
    }
    this.startWhatMay();
    if (lane.room > 0) this.claim();
  }

  private recorded(outcomes: readonly Outcome[], freed: readonly string[]): void {
    for (const { item, retry } of outcomes) {
      const lane = this.lanes.of(item.subscription_id);
      if (retry === 'AUTO') lane.halted = false;
      // The partner is back, or the claim that found nothing may find something now.
      if ((retry === null && item.down) || lane.stalled) lane.hungry = true;
      lane.stalled = false;
    }
    this.wake(freed);
    this.claim();
    if (outcomes.some(({ item }) => item.job_id !== null)) this.onJobProgress();
  }

  private giveBackOld(): void {
    const oldest = performance.now() - MAY_START_MS;
    for (const lane of this.lanes.all()) {
      const first = lane.first();
      if (first && first.claimedAt < oldest) this.writer.release(lane.empty());
    }
  }

  private logFailure({ item, result, retry }: Outcome): void {
    this.logger.info(
      {
        notification_id: item.id,
        subscription_id: item.subscription_id,
        failure: result.failure,
        http_status: result.httpStatus,
        reason: result.reason,
        retry,
        duration_ms: result.durationMs,
      },
      'notification not delivered',
    );
  }
}
