import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Clock } from '../../platform/clock.js';
import { requestContext } from '../../platform/context/request-context.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { RejectUnmatchedResult } from '../results.commands.js';
import { assertOpen } from './unmatched.rules.js';
import { UnmatchedStore } from './unmatched-store.js';

@CommandHandler(RejectUnmatchedResult)
export class RejectUnmatchedResultHandler implements ICommandHandler<RejectUnmatchedResult> {
  constructor(
    private readonly unmatched: UnmatchedStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  execute({ id, reason }: RejectUnmatchedResult): Promise<void> {
    return this.unitOfWork.run(async () => {
      const result = assertOpen(await this.unmatched.lock(id));
      await this.unmatched.reject(id, requestContext().caller!.username, reason, this.clock.now());
      this.unitOfWork.audit('unmatched-result.reject', id, { accountCode: result.account_code });
    });
  }
}
