import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { acrossAccounts, Database } from '../platform/database/database.js';
import { notFound, validationError } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';
import { AnswerEmpty, BodyProblems } from '../platform/http/documented.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { EraseUnmatchedResults } from '../results/results.commands.js';
import { ErasureJobPath, TiedResultsBody } from './privacy.dto.js';

const LOCK = {
  text: `SELECT account_code, unmatched_results FROM jobs WHERE id = $1 AND kind = 'ERASE' FOR UPDATE`,
  across: acrossAccounts.operators,
};
const STRIKE = {
  text: `UPDATE jobs SET unmatched_results = ARRAY(SELECT unnest(unmatched_results) EXCEPT SELECT unnest($2::uuid[]))
         WHERE id = $1`,
  across: acrossAccounts.keyInHand,
};

/** The results that only a name ties to somebody who was erased: an operator says which are theirs. */
@ApiTags("Candidates' rights")
@Access('admin')
@Controller('admin/jobs/:job_id/unmatched-results')
export class TiedResultsController {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
  ) {}

  @Post('erase')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Erase unmatched results that only a name ties to a candidate who was erased',
    description: 'Of those that the job of the erasure lists as `unmatched_results`. It cannot be undone.',
  })
  @AnswerEmpty(204, 'Erased; the job no longer lists them.')
  @BodyProblems(404)
  async erase(@Param() { job_id }: ErasureJobPath, @Body() { unmatched_results: ids }: TiedResultsBody): Promise<void> {
    await this.unitOfWork.run(async () => {
      const job = await this.database.queryOne<{ account_code: string; unmatched_results: string[] | null }>(LOCK, [
        job_id,
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
      await this.database.execute(STRIKE, [job_id, ids]);
    });
  }
}
