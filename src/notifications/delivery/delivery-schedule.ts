import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { ProcessConfig } from '../../platform/process.config.js';
import { Clock } from '../../platform/clock.js';
import { Database, prepared } from '../../platform/database/database.js';
import { Outbox } from '../../platform/events/outbox.js';
import { Logger } from '../../platform/observability/logger.js';
import { Readiness } from '../../platform/observability/readiness.js';
import { ClockWatch } from './clock-watch.js';
import { DigestUpkeep } from './digest-upkeep.js';
import { DeliveryInvariant } from './delivery-invariant.js';
import { DeliveryLoop } from './delivery-loop.js';
import { DeliverySignals } from '../delivery-signals.js';
import { NotificationRetention } from './notification-retention.js';
import { PartnerDirectory } from '../subscriptions/partner-directory.js';
import { PollOffers } from './poll-offers.js';
import { QueueUpkeep } from './queue-upkeep.js';
import { JobRetention } from './job-retention.js';
import { SubscriptionRetention } from './subscription-retention.js';
import { JobRunner } from './job-runner.js';
import { UndeliveredFigures } from './undelivered-figures.js';

/**
 * Runs ANALYZE on tables that have grown, and discards PostgreSQL's statistics about a nearly empty `deliveries` table.
 * That table is usually empty. A burst of notifications must not wait until autovacuum replaces plans that were made
 * for an empty table.
 */
const ANALYSE_GROWN = prepared('statistics-analyse-grown', 'SELECT analyse_grown_tables(), doubt_empty_deliveries()');

const SWEEP_MS = 1_000;
const PULSE_MS = 250;
const CHECK_MS = 10_000;
const RETENTION_MS = 10 * 60_000;
/** The time without a successful sweep, in milliseconds, after which the loop counts as stalled. */
const STALLED_MS = 30_000;

/**
 * Starts, schedules and drains the delivery loop in a process with the `delivery` role. Sweeps find work that a crash,
 * a lost signal or another process left behind. A periodic task does not start again while its previous round is
 * running.
 */
@Injectable()
export class DeliverySchedule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly underWay = new Set<string>();
  private lastSweep = performance.now();
  private active = false;

  constructor(
    private readonly config: ProcessConfig,
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly outbox: Outbox,
    private readonly loop: DeliveryLoop,
    private readonly directory: PartnerDirectory,
    private readonly signals: DeliverySignals,
    private readonly jobs: JobRunner,
    private readonly clockWatch: ClockWatch,
    private readonly upkeep: QueueUpkeep,
    private readonly polls: PollOffers,
    private readonly digests: DigestUpkeep,
    private readonly invariant: DeliveryInvariant,
    private readonly undelivered: UndeliveredFigures,
    private readonly retention: NotificationRetention,
    private readonly jobRetention: JobRetention,
    private readonly subscriptionRetention: SubscriptionRetention,
    private readonly readiness: Readiness,
    clock: Clock,
  ) {
    clock.follow({ catchUp: () => this.catchUp() });
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.roles.has('delivery')) return;
    this.readiness.add('delivery loop', () =>
      Promise.resolve(performance.now() - this.lastSweep > STALLED_MS ? 'stalled' : null),
    );
    this.readiness.add('deliveries', () => Promise.resolve(this.invariant.isBroken ? 'overdue' : null));
    this.active = true;
    this.signals.connect(this.loop);
    this.loop.onJobProgress = () => this.jobs.wake();
    this.loop.onBusy = (subscriptionIds) => this.signals.busy(subscriptionIds);
    this.loop.start();
    await this.signals.listen();
    void this.sweep();
  }

  /** Drains the delivery loop at the beginning of the shutdown, before the database connections are closed. */
  async beforeApplicationShutdown(): Promise<void> {
    if (!this.active) return;
    this.active = false;
    await this.loop.drain(this.config.shutdownGraceMs);
    await this.signals.close();
  }

  @Interval(SWEEP_MS)
  async sweep(): Promise<void> {
    void this.once('statistics', () => this.analyseGrown());
    void this.once('digests', () => this.digests.run());
    await this.once('sweep', async () => {
      await this.outbox.sweep();
      await this.loop.findWork();
      this.lastSweep = performance.now();
    });
    await this.once('lapsed polls', () => this.polls.lapse(null));
    await this.once('clock', () => this.clockWatch.check());
    await this.once('upkeep', () => this.upkeep.run());
  }

  @Interval(PULSE_MS)
  async pulse(): Promise<void> {
    this.loop.check();
    await this.once('probes', () => this.loop.probe());
    await this.once('bulk jobs', () => this.jobs.advance());
  }

  @Interval(CHECK_MS)
  async check(): Promise<void> {
    await this.once('invariant', () => this.invariant.check());
    await this.once('undelivered', () => this.undelivered.count());
    await this.once('certificates', () => this.directory.recordCertificates());
  }

  @Interval(RETENTION_MS)
  async retain(): Promise<void> {
    await this.once('retention', async () => {
      await this.retention.run();
      await this.jobRetention.run();
      await this.subscriptionRetention.run();
      await this.digests.removeEmpty();
    });
  }

  /**
   * Runs ANALYZE on tables that are much larger than PostgreSQL's statistics say, so that PostgreSQL makes new plans
   * for the statements on these tables.
   */
  async analyseGrown(): Promise<void> {
    await this.database.query(ANALYSE_GROWN);
  }

  /** Wakes the queues of the partners whose notifications became due when the sandbox's clock was moved. */
  private async catchUp(): Promise<void> {
    this.loop.timeMoved();
    await this.sweep();
    await this.retain();
  }

  private async once(name: string, work: () => Promise<void>): Promise<void> {
    if (!this.active || this.underWay.has(name)) return;
    this.underWay.add(name);
    try {
      await work();
    } catch (error) {
      // During a shutdown, a round that is under way loses its connection to the database.
      if (!this.active) return;
      this.logger.warn({ err: error, round: name }, 'a round of delivery failed; the next one tries again');
    } finally {
      this.underWay.delete(name);
    }
  }
}
