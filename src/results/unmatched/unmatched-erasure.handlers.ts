import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database } from '../../platform/database/database.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { EraseUnmatchedResults } from '../results.commands.js';

const ERASE = {
  text: 'DELETE FROM unmatched_results WHERE id = ANY ($1::uuid[]) RETURNING id',
  across: acrossAccounts.keyInHand,
};

@CommandHandler(EraseUnmatchedResults)
export class EraseUnmatchedResultsHandler implements ICommandHandler<EraseUnmatchedResults> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  execute({ accountCode, ids }: EraseUnmatchedResults): Promise<void> {
    return this.unitOfWork.run(async () => {
      for (const { id } of await this.database.query<{ id: string }>(ERASE, [ids]))
        this.unitOfWork.audit('unmatched-result.erase', id, { accountCode });
    });
  }
}
