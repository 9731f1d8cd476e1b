import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Access, Bounded } from '../../platform/http/access.js';
import { Answer, AnswerList, Problems } from '../../platform/http/documented.js';
import { pageOf, sendPage } from '../../platform/http/paging.js';
import { StartJob } from './error-queue.commands.js';
import { StartsJob } from './job-answers.js';
import { JobStarted, ReplayBody } from './jobs.dto.js';
import { NotificationReader, presentNotification } from './notification-reader.js';
import { NotificationDetail, NotificationModel, NotificationPath, NotificationQuery } from './notifications.dto.js';

@ApiTags('Notifications')
@Access('admin', 'support')
@Bounded('row')
@Controller('admin/notifications')
export class NotificationsController {
  constructor(
    private readonly reader: NotificationReader,
    private readonly commandBus: CommandBus,
  ) {}

  @Get()
  @Bounded('accounts')
  @ApiOperation({ summary: 'List the notifications of all states' })
  @AnswerList(NotificationModel)
  @Problems(400)
  async list(
    @Query() query: NotificationQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<NotificationModel[]> {
    const page = pageOf(query);
    const rows = await (query.exam_in == null
      ? this.reader.list(query, query.state, page, query.order)
      : this.reader.listByExam(query, query.exam_in, query.state, page));
    return sendPage(rows, page, response).map(presentNotification);
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read a notification with its body and all attempts' })
  @Answer(200, NotificationDetail)
  @Problems(404)
  get(@Param() { id }: NotificationPath): Promise<NotificationDetail> {
    return this.reader.get(id);
  }

  @Post('replay')
  @ApiOperation({
    summary: 'Replay notifications that were delivered to a partner',
  })
  @StartsJob(JobStarted, 404)
  async replay(
    @Body() { subscription_id, filter, reason, dry_run }: ReplayBody,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JobStarted> {
    const { jobId, ...count } = await this.commandBus.execute(
      new StartJob('REPLAY', { ...filter, subscription_id }, reason, dry_run === true),
    );
    if (dry_run === true) response.status(200);
    return { job_id: jobId, ...count };
  }
}
