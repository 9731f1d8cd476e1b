import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Access, Bounded } from '../../platform/http/access.js';
import { Answer, AnswerList, Problems } from '../../platform/http/documented.js';
import { assertAccountKnown } from '../../platform/known-accounts.js';
import { pageOf, sendPage } from '../../platform/http/paging.js';
import { StartJob, SteerJob } from './error-queue.commands.js';
import { StartsJob, SteersJob } from './job-answers.js';
import { JobReader, presentResend } from './job-reader.js';
import { BulkBody, JobQuery, JobStarted, ResendModel, ResendPath, ResendStarted } from './jobs.dto.js';

/**
 * Serves the routes for bulk actions on the error queue. Its `resends` routes return every bulk job, like the routes of
 * `/admin/jobs`.
 */
@ApiTags('Error queue')
@Access('admin', 'support')
@Bounded('row')
@Controller('admin/error-queue')
export class ResendsController {
  constructor(
    private readonly reader: JobReader,
    private readonly queryBus: QueryBus,
    private readonly commandBus: CommandBus,
  ) {}

  @Post('resend')
  @Bounded('accounts')
  @ApiOperation({ summary: 'Resend all notifications that match a filter' })
  @StartsJob(ResendStarted)
  async resend(
    @Body() { filter, reason, dry_run }: BulkBody,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ResendStarted> {
    const { jobId, ...count } = await this.commandBus.execute(new StartJob('RESEND', filter, reason, dry_run === true));
    if (dry_run === true) response.status(200);
    return { job_id: jobId, resend_id: jobId, ...count };
  }

  @Post('resolve')
  @Bounded('accounts')
  @ApiOperation({ summary: 'Resolve all notifications that match a filter' })
  @StartsJob(JobStarted)
  async resolve(
    @Body() { filter, reason, dry_run }: BulkBody,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JobStarted> {
    const { jobId, ...count } = await this.commandBus.execute(
      new StartJob('RESOLVE', filter, reason, dry_run === true),
    );
    if (dry_run === true) response.status(200);
    return { job_id: jobId, ...count };
  }

  @Get('resends')
  @Bounded('accounts')
  @ApiOperation({ summary: 'List the bulk jobs of all kinds' })
  @AnswerList(ResendModel)
  @Problems(400)
  async list(@Query() query: JobQuery, @Res({ passthrough: true }) response: Response): Promise<ResendModel[]> {
    await assertAccountKnown(this.queryBus, query.account_code, { parameter: 'account_code' });
    const page = pageOf(query);
    return sendPage(await this.reader.list(query, page), page, response).map(presentResend);
  }

  @Get('resends/:resend_id')
  @ApiOperation({ summary: 'Read the progress of a bulk job' })
  @Answer(200, ResendModel)
  @Problems(404)
  async get(@Param() { resend_id: id }: ResendPath): Promise<ResendModel> {
    return presentResend(await this.reader.get(id));
  }

  @Post('resends/:resend_id/pause')
  @SteersJob(ResendModel, 'Pause a bulk job')
  pause(@Param() { resend_id: id }: ResendPath): Promise<ResendModel> {
    return this.steer(new SteerJob(id, 'pause'));
  }

  @Post('resends/:resend_id/resume')
  @SteersJob(ResendModel, 'Resume a paused bulk job')
  resume(@Param() { resend_id: id }: ResendPath): Promise<ResendModel> {
    return this.steer(new SteerJob(id, 'resume'));
  }

  @Post('resends/:resend_id/abort')
  @SteersJob(ResendModel, 'Abort a bulk job and leave the rest in the error queue')
  abort(@Param() { resend_id: id }: ResendPath): Promise<ResendModel> {
    return this.steer(new SteerJob(id, 'abort'));
  }

  private async steer(command: SteerJob): Promise<ResendModel> {
    await this.commandBus.execute(command);
    return presentResend(await this.reader.get(command.jobId));
  }
}
