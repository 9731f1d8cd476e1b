import { Body, Controller, Get, HttpCode, Param, Post, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { formatDateTime } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { notFound } from '../../platform/errors.js';
import { Access } from '../../platform/http/access.js';
import { Answer, BodyProblems, IdempotencyHeader, Problems } from '../../platform/http/documented.js';
import { Idempotent } from '../../platform/unit-of-work/idempotency.js';
import { ResendMatching, SteerResend } from './error-queue.commands.js';
import { BulkResendAnswer, BulkResendBody, ResendModel } from './notifications.dto.js';
import { ResendJob } from '../delivery/resend-job.entity.js';
import { isUuid } from '../../platform/validation/identifiers.js';

@ApiTags('Error queue')
@Access('admin')
@Controller('admin/error-queue')
export class ResendsController {
  constructor(
    private readonly database: Database,
    private readonly commandBus: CommandBus,
  ) {}

  @Post('resend')
  @HttpCode(202)
  @Idempotent()
  @ApiOperation({ summary: 'Send all that match again, oldest first, one until that is delivered' })
  @Answer(202, BulkResendAnswer, 'A job was made.')
  @Answer(200, BulkResendAnswer, 'A dry run: nothing was made.')
  @BodyProblems()
  @IdempotencyHeader()
  async resend(
    @Body() { filter, reason, dry_run }: BulkResendBody,
    @Res({ passthrough: true }) response: Response,
  ): Promise<BulkResendAnswer> {
    const dryRun = dry_run === true;
    const answer = await this.commandBus.execute(new ResendMatching(filter, reason, dryRun));
    if (dryRun) response.status(200);
    return answer;
  }

  @Get('resends/:resend_id')
  @ApiOperation({ summary: 'How far a bulk resend is' })
  @Answer(200, ResendModel)
  @Problems(404)
  async get(@Param('resend_id') id: string): Promise<ResendModel> {
    const job = isUuid(id) ? await this.database.manager.findOneBy(ResendJob, { id }) : null;
    if (job === null) throw notFound.error({ detail: 'There is no such resend.' });
    return present(job);
  }

  @Post('resends/:resend_id/pause')
  @HttpCode(200)
  @Idempotent()
  @ApiOperation({ summary: 'Send no more for now' })
  @Answer(200, ResendModel)
  @Problems(404, 409)
  @IdempotencyHeader()
  async pause(@Param('resend_id') id: string): Promise<ResendModel> {
    return present(await this.commandBus.execute(new SteerResend(id, 'pause')));
  }

  @Post('resends/:resend_id/resume')
  @HttpCode(200)
  @Idempotent()
  @ApiOperation({ summary: 'Go on, one at a time until the next delivery' })
  @Answer(200, ResendModel)
  @Problems(404, 409)
  @IdempotencyHeader()
  async resume(@Param('resend_id') id: string): Promise<ResendModel> {
    return present(await this.commandBus.execute(new SteerResend(id, 'resume')));
  }

  @Post('resends/:resend_id/abort')
  @HttpCode(200)
  @Idempotent()
  @ApiOperation({ summary: 'End it; what was not sent stays in the error queue' })
  @Answer(200, ResendModel)
  @Problems(404, 409)
  @IdempotencyHeader()
  async abort(@Param('resend_id') id: string): Promise<ResendModel> {
    return present(await this.commandBus.execute(new SteerResend(id, 'abort')));
  }
}

function present(job: ResendJob): ResendModel {
  return {
    resend_id: job.id,
    state: job.state,
    matched: job.matched,
    sent: job.sent,
    delivered: job.delivered,
    failed: job.failed,
    reason: job.reason,
    actor: job.actor,
    created_datetime: formatDateTime(job.created_datetime),
  };
}
