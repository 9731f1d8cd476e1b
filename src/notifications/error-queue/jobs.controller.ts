import { Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Access, Bounded } from '../../platform/http/access.js';
import { Answer, AnswerList, Problems } from '../../platform/http/documented.js';
import { assertAccountKnown } from '../../platform/known-accounts.js';
import { pageOf, sendPage } from '../../platform/http/paging.js';
import { SteerJob } from './error-queue.commands.js';
import { SteersJob } from './job-answers.js';
import { JobReader, presentJob } from './job-reader.js';
import { JobItemModel, JobItemQuery, JobModel, JobPath, JobQuery } from './jobs.dto.js';

@ApiTags('Bulk jobs')
@Access('admin', 'support')
@Bounded('row')
@Controller('admin/jobs')
export class JobsController {
  constructor(
    private readonly reader: JobReader,
    private readonly queryBus: QueryBus,
    private readonly commandBus: CommandBus,
  ) {}

  @Get()
  @Bounded('accounts')
  @ApiOperation({ summary: 'List the bulk jobs of all kinds' })
  @AnswerList(JobModel)
  @Problems(400)
  async list(@Query() query: JobQuery, @Res({ passthrough: true }) response: Response): Promise<JobModel[]> {
    await assertAccountKnown(this.queryBus, query.account_code, { parameter: 'account_code' });
    const page = pageOf(query);
    return sendPage(await this.reader.list(query, page), page, response).map(presentJob);
  }

  @Get(':job_id')
  @ApiOperation({ summary: 'Read the progress of a bulk job' })
  @Answer(200, JobModel)
  @Problems(404)
  async get(@Param() { job_id: id }: JobPath): Promise<JobModel> {
    return presentJob(await this.reader.get(id));
  }

  @Get(':job_id/items')
  @ApiOperation({ summary: 'List the notifications of a bulk job with their outcomes' })
  @AnswerList(
    JobItemModel,
    'The items in the order in which they are processed. `Link` with `rel="next"` has the URL of the next page.',
  )
  @Problems(400, 404)
  async items(
    @Param() { job_id: id }: JobPath,
    @Query() query: JobItemQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JobItemModel[]> {
    await this.reader.get(id);
    const page = pageOf(query);
    const rows = await this.reader.items(id, query.outcome, page);
    return sendPage(rows, page, response).map(({ position: _, ...item }) => item);
  }

  @Post(':job_id/pause')
  @SteersJob(JobModel, 'Pause a bulk job')
  pause(@Param() { job_id: id }: JobPath): Promise<JobModel> {
    return this.steer(new SteerJob(id, 'pause'));
  }

  @Post(':job_id/resume')
  @SteersJob(JobModel, 'Resume a paused bulk job')
  resume(@Param() { job_id: id }: JobPath): Promise<JobModel> {
    return this.steer(new SteerJob(id, 'resume'));
  }

  @Post(':job_id/abort')
  @SteersJob(JobModel, 'Abort a bulk job and leave the rest unchanged')
  abort(@Param() { job_id: id }: JobPath): Promise<JobModel> {
    return this.steer(new SteerJob(id, 'abort'));
  }

  private async steer(command: SteerJob): Promise<JobModel> {
    await this.commandBus.execute(command);
    return presentJob(await this.reader.get(command.jobId));
  }
}
