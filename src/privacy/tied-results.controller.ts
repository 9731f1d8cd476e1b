import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Access } from '../platform/http/access.js';
import { AnswerEmpty, BodyProblems } from '../platform/http/documented.js';
import { ErasureJobPath, TiedResultsBody } from './privacy.dto.js';
import { TiedResults } from './tied-results.js';

/**
 * Serves a route on which operators erase exam results. These results are linked to an erased person only by a name, so
 * an operator decides which of them are the person's.
 */
@ApiTags("Candidates' rights")
@Access('admin')
@Controller('admin/jobs/:job_id/unmatched-results')
export class TiedResultsController {
  constructor(private readonly tied: TiedResults) {}

  @Post('erase')
  @ApiOperation({
    summary: 'Erase unmatched results that name a candidate who was erased',
    description:
      'The request names results that the erasure job lists in `unmatched_results`. An erasure cannot be undone.',
  })
  @AnswerEmpty(204, 'The results are erased, and the job no longer lists them.')
  @BodyProblems(404)
  async erase(@Param() { job_id }: ErasureJobPath, @Body() { unmatched_results: ids }: TiedResultsBody): Promise<void> {
    await this.tied.erase(job_id, ids);
  }
}
