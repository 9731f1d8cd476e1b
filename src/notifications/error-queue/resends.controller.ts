import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Access, Bounded } from '../../platform/http/access.js';
import { Answer, AnswerList, BodyProblems, IdempotencyHeader, Problems } from '../../platform/http/documented.js';
import { assertAccountKnown } from '../../platform/known-accounts.js';
import { pageOf, sendPage } from '../../platform/http/paging.js';
import { Idempotent } from '../../platform/unit-of-work/idempotency.js';
import { StartJob, SteerJob } from './error-queue.commands.js';
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
  @HttpCode(202)
  @Idempotent()
  @ApiOperation({ summary: 'Resend all notifications that match a filter' })
  @Answer(202, ResendStarted, 'A job was created.')
  @Answer(200, ResendStarted, 'The count of a dry run. No job was created.')
  @BodyProblems()
  @IdempotencyHeader()
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
  @HttpCode(202)
  @Idempotent()
  @ApiOperation({ summary: 'Resolve all notifications that match a filter' })
  @Answer(202, JobStarted, 'A job was created.')
  @Answer(200, JobStarted, 'The count of a dry run. No job was created.')
  @BodyProblems()
  @IdempotencyHeader()
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
  @HttpCode(200)
  @Idempotent()
  @ApiOperation({ summary: 'Pause a bulk job' })
  @Answer(200, ResendModel)
  @Problems(404, 409)
  @IdempotencyHeader()
  pause(@Param() { resend_id: id }: ResendPath): Promise<ResendModel> {
    return this.steer(new SteerJob(id, 'pause'));
  }

  @Post('resends/:resend_id/resume')
  @HttpCode(200)
  @Idempotent()
  @ApiOperation({ summary: 'Resume a paused bulk job' })
  @Answer(200, ResendModel)
  @Problems(404, 409)
  @IdempotencyHeader()
  resume(@Param() { resend_id: id }: ResendPath): Promise<ResendModel> {
    return this.steer(new SteerJob(id, 'resume'));
  }

  @Post('resends/:resend_id/abort')
  @HttpCode(200)
  @Idempotent()
  @ApiOperation({ summary: 'Abort a bulk job and leave the rest in the error queue' })
  @Answer(200, ResendModel)
  @Problems(404, 409)
  @IdempotencyHeader()
  abort(@Param() { resend_id: id }: ResendPath): Promise<ResendModel> {
    return this.steer(new SteerJob(id, 'abort'));
  }

  private async steer(command: SteerJob): Promise<ResendModel> {
    await this.commandBus.execute(command);
    return presentResend(await this.reader.get(command.jobId));
  }
}
