import { Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { acrossAccounts, Database } from '../platform/database/database.js';
import { notFound, validationError } from '../platform/errors.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { EraseUnmatchedResults } from '../results/results.commands.js';

const LOCK = {
  text: `SELECT account_code, unmatched_results FROM jobs WHERE id = $1 AND kind = 'ERASE' FOR UPDATE`,
  across: acrossAccounts.operators,
};
const STRIKE = {
  text: `UPDATE jobs SET unmatched_results = ARRAY(SELECT unnest(unmatched_results) EXCEPT SELECT unnest($2::uuid[]))
         WHERE id = $1`,
  across: acrossAccounts.keyInHand,
};

/** Erases unmatched exam results that are linked to an erased person only by a name. */
@Injectable()
export class TiedResults {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
  ) {}

  /**
   * Erases exam results that the erasure job lists, and removes the results from the job's list.
   * @throws DomainError not_found, validation_error (`not_listed`)
   */
  async erase(jobId: string, ids: readonly string[]): Promise<void> {
    await this.unitOfWork.run(async () => {
      const job = await this.database.queryOne<{ account_code: string; unmatched_results: string[] | null }>(LOCK, [
        jobId,
      ]);
      if (job === null) throw notFound.error({ detail: 'There is no such erasure.' });
      const errors = ids.flatMap((id, index) =>
        job.unmatched_results?.includes(id)
          ? []
          : [
              {
                pointer: `/unmatched_results/${index}`,
                code: 'not_listed',
                detail: 'The job does not list this result.',
              },
            ],
      );
      if (errors.length > 0) throw validationError.error({ errors });
      await this.commandBus.execute(new EraseUnmatchedResults(job.account_code, ids));
      await this.database.execute(STRIKE, [jobId, ids]);
    });
  }
}
