import { CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { Database } from '../../platform/database/database.js';
import { assertAccountKnown } from '../../platform/known-accounts.js';
import { Jobs } from '../../platform/jobs/jobs.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { JobPreparation } from '../delivery/job-preparation.js';
import { TRY_AGAIN, WITHDRAW } from '../delivery/job-statements.js';
import { DeliverySignals } from '../delivery-signals.js';
import { SubscriptionStore } from '../subscriptions/subscription-store.js';
import { StartJob, SteerJob, type StartedJob } from './error-queue.commands.js';

@CommandHandler(StartJob)
export class StartJobHandler implements ICommandHandler<StartJob> {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly jobs: Jobs,
    private readonly preparation: JobPreparation,
    private readonly queryBus: QueryBus,
    private readonly subscriptions: SubscriptionStore,
  ) {}

  async execute({ kind, filter, reason, dryRun }: StartJob): Promise<StartedJob> {
    await assertAccountKnown(this.queryBus, filter.account_code, { pointer: '/filter/account_code' });
    const accountCode =
      kind === 'REPLAY'
        ? (await this.subscriptions.get(filter.subscription_id!)).account_code
        : (filter.account_code ?? null);
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
    private readonly signals: DeliverySignals,
  ) {}

  execute({ jobId, action }: SteerJob): Promise<void> {
    return this.unitOfWork.run(async () => {
      await this.jobs.steer(jobId, action);
      const freed = await this.database.query<{ subscription_id: string }>(WITHDRAW, [jobId]);
      if (action === 'resume') await this.database.execute(TRY_AGAIN, [jobId]);
      await this.signals.dueAfterCommit(freed.map((row) => row.subscription_id));
    });
  }
}
