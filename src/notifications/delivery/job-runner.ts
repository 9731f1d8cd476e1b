import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { OtherCalls } from '../../platform/overload/other-calls.js';
import type { Job } from '../../platform/jobs/job.entity.js';
import { Logger } from '../../platform/observability/logger.js';
import { DeliverySignals } from '../delivery-signals.js';
import { RacePoints } from '../race-points.js';
import { JobPreparation } from './job-preparation.js';
import {
  END_ORPHANS,
  HAND_OVER_REPLAYS,
  HAND_OVER_RESENDS,
  RESOLVE_ITEMS,
  SETTLE,
  type HandedOver,
  type Resolved,
} from './job-statements.js';

const ACTIVE = prepared(
  'jobs-active',
  `SELECT * FROM jobs WHERE state IN ('PREPARING', 'RUNNING', 'PAUSED') AND kind IN ('RESEND', 'REPLAY', 'RESOLVE')
   ORDER BY state = 'PAUSED', position LIMIT 200`,
  acrossAccounts.workers,
);

const OWN_ROUTES = /^[^?]*\/admin\/jobs/i;
/**
 * The maximum pause of the job runner after a step of a job, in milliseconds. The pause is proportional to the step's
 * duration, but limited, because a step may mostly wait for a partner.
 */
const MOST_REST_MS = 500;

/**
 * Runs bulk jobs on notifications.
 *
 * 1. A job is stored as PREPARING (platform/jobs). The notifications that matched at its creation become its items,
 *    batch by batch (job-preparation.ts). Then the job becomes RUNNING, and its list of items no longer changes.
 * 2. The items for one partner form a part of the job. Until its first delivery, a part is TRYING and sends one item at
 *    a time. Then the part is OPEN. When the partner fails, the part is PAUSED until an operator resumes the job. Parts
 *    do not wait for each other.
 * 3. The runner works on each job in steps. A step hands the oldest items of each part to the delivery loop: each item
 *    gets a row in `deliveries` with `job_id`. The notification itself stays unchanged.
 * 4. Just before an attempt, the loop asks for permission (job-gate.ts). Only with this permission does the item become
 *    SENT and count as sent. If an operator or the partner prevents the attempt, the item loses its row in `deliveries`
 *    and is WAITING again. An item that is released before its request is sent is also WAITING again, but keeps its
 *    row.
 * 5. The statement that records an attempt's outcome also records the item's outcome. The statement pauses the part
 *    after a failure of the partner (record-statements.ts).
 * 6. For a job that resolves notifications, points 2 to 5 do not apply: a step resolves a batch of items.
 * 7. `SETTLE` ends the job, or pauses it when no part can proceed.
 * 8. While other requests are being served, the runner pauses after each step that did work. The pause depends on the
 *    duration of the step and of the attempts that followed.
 *
 * The whole state of a job is in the database, so the job continues after a restart. Never count an attempt as sent
 * before it starts, and never change a notification before its attempt is recorded. Otherwise, an aborted job could
 * leave unsent notifications changed.
 */
@Injectable()
export class JobRunner implements OnApplicationBootstrap {
  private running: Promise<void> | null = null;
  private again = false;
  /** The time at which the last round began, and whether that round made progress on any job. */
  private began = 0;
  private worked = false;
  /**
   * For each job that resolves notifications, the position up to which the current search has come. The entry is
   * removed at the end of a search. The next search then starts at the beginning, because notifications with a running
   * attempt were skipped.
   */
  private readonly resolvedTo = new Map<string, number>();
  private readonly otherCalls = new OtherCalls(OWN_ROUTES);

  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly signals: DeliverySignals,
    private readonly preparation: JobPreparation,
    private readonly races: RacePoints,
    private readonly http: HttpAdapterHost,
  ) {}

  onApplicationBootstrap(): void {
    this.otherCalls.watch(this.http);
  }

  /**
   * Runs steps of all bulk jobs until none can proceed. If this method is called during a run, that run checks all jobs
   * once more.
   */
  advance(): Promise<void> {
    this.again = true;
    this.running ??= this.run().finally(() => (this.running = null));
    return this.running;
  }

  /** Starts `advance` in the background. An error is only logged, because the next scheduled round retries. */
  wake(): void {
    this.advance().catch(() => undefined);
  }

  private async run(): Promise<void> {
    while (this.again) {
      if (this.worked) await this.otherCalls.leaveTime(performance.now() - this.began, MOST_REST_MS);
      [this.again, this.worked, this.began] = [false, false, performance.now()];
      const jobs = await this.database.query<Job>(ACTIVE);
      for (const id of this.resolvedTo.keys()) if (!jobs.some((job) => job.id === id)) this.resolvedTo.delete(id);
      for (const job of jobs) {
        try {
          if (await this.step(job)) this.again = this.worked = true;
        } catch (error) {
          this.logger.warn({ err: error, job_id: job.id }, 'a step of a bulk job failed; the next round tries again');
        }
      }
    }
  }

  /** Runs one step of a bulk job; returns whether the job may have more steps that can run now. */
  private async step(job: Job): Promise<boolean> {
    if (job.state === 'PREPARING') return this.preparation.prepare(job);
    let more = false;
    if (job.state === 'RUNNING') {
      more = job.kind === 'RESOLVE' ? await this.resolve(job.id) : await this.handOver(job);
      await this.database.execute(END_ORPHANS, [job.id]);
    }
    await this.database.execute(SETTLE, [job.id]);
    return more;
  }

  private async handOver({ id, kind }: Job): Promise<boolean> {
    const statement = kind === 'REPLAY' ? HAND_OVER_REPLAYS : HAND_OVER_RESENDS;
    const { skipped, woken } = (await this.database.queryOne<HandedOver>(statement, [id]))!;
    await this.races.reached('handed over');
    if (woken.length > 0) this.worked = true;
    this.signals.due(woken);
    return skipped > 0;
  }

  private async resolve(id: string): Promise<boolean> {
    const after = this.resolvedTo.get(id) ?? 0;
    const { last, more } = (await this.database.queryOne<Resolved>(RESOLVE_ITEMS, [id, after]))!;
    if (more) this.resolvedTo.set(id, last!);
    else this.resolvedTo.delete(id);
    return more;
  }
}
