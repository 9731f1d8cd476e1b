import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { currentAllowedAccounts } from '../../platform/context/request-context.js';
import { Database } from '../../platform/database/database.js';
import { lacking } from '../../platform/http/challenge.js';
import { Jobs } from '../../platform/jobs/jobs.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { JobPreparation } from '../delivery/job-preparation.js';
import { SETTLE, TRY_AGAIN, WITHDRAW } from '../delivery/job-statements.js';
import { DeliverySignals } from '../delivery-signals.js';
import { SubscriptionStore } from '../subscriptions/subscription-store.js';
import { FilterBounds } from './filter-bounds.js';
import { JobReader } from './job-reader.js';
import { StartJob, SteerJob, type StartedJob } from './error-queue.commands.js';

@CommandHandler(StartJob)
export class StartJobHandler implements ICommandHandler<StartJob> {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly jobs: Jobs,
    private readonly preparation: JobPreparation,
    private readonly bounds: FilterBounds,
    private readonly subscriptions: SubscriptionStore,
  ) {}

  async execute({ kind, filter: asked, reason, dryRun }: StartJob): Promise<StartedJob> {
    // A replay names no subscription if a partner replays the notifications of several subscriptions together.
    if (kind === 'REPLAY' && asked.subscription_id != null) await this.subscriptions.get(asked.subscription_id);
    const { filter, accountCode } = await this.bounds.of(asked, { pointer: '/filter/account_code' });
    return this.unitOfWork.run(async () => {
      if (dryRun) return { jobId: null, ...(await this.preparation.count(kind, filter)) };
      return { jobId: await this.jobs.make({ kind, filter, reason, accountCode }), matched: null };
    });
  }
}

@CommandHandler(SteerJob)
export class SteerJobHandler implements ICommandHandler<SteerJob> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly jobs: Jobs,
    private readonly reader: JobReader,
    private readonly signals: DeliverySignals,
  ) {}

  /**
   * Pauses, resumes or aborts a job.
   * @throws DomainError `not_found`, `insufficient_scope`, `job_finished`
   */
  async execute({ jobId, action }: SteerJob): Promise<void> {
    const { kind } = await this.reader.get(jobId);
    if (kind === 'ERASE' && currentAllowedAccounts() !== null) throw lacking('admin');
    if (kind !== 'ERASE') await this.unitOfWork.run(() => this.settle(jobId));
    await this.unitOfWork.run(async () => {
      await this.jobs.steer(jobId, action);
      const freed = await this.database.query<{ subscription_id: string }>(WITHDRAW, [jobId]);
      if (action === 'resume') await this.database.execute(TRY_AGAIN, [jobId]);
      this.signals.due(freed.map((row) => row.subscription_id));
    });
  }

  /**
   * Ends the job if every item has an outcome. After the last outcome, the job runner may not have ended the job yet.
   */
  private async settle(jobId: string): Promise<void> {
    await this.jobs.lock(jobId);
    await this.database.execute(SETTLE, [jobId]);
  }
}
