import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Access, Bounded } from '../../platform/http/access.js';
import { Answer, AnswerList, BodyProblems, Problems } from '../../platform/http/documented.js';
import { Idempotent } from '../../platform/unit-of-work/idempotency.js';
import { pageOf, sendPage } from '../../platform/http/paging.js';
import { ResendNotification, ResolveNotification } from './error-queue.commands.js';
import { NotificationReader, presentNotification } from './notification-reader.js';
import {
  CauseModel,
  ErrorQueueQuery,
  NotificationDetail,
  NotificationModel,
  QueuedPath,
  ResendOneBody,
  ResolveBody,
} from './notifications.dto.js';

@ApiTags('Error queue')
@Access('admin', 'support')
@Bounded('row')
@Controller('admin/error-queue')
export class ErrorQueueController {
  constructor(
    private readonly reader: NotificationReader,
    private readonly commandBus: CommandBus,
  ) {}

  @Get()
  @Bounded('accounts')
  @ApiOperation({ summary: 'List the notifications in the error queue' })
  @AnswerList(NotificationModel)
  @Problems(400)
  async list(
    @Query() query: ErrorQueueQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<NotificationModel[]> {
    const page = pageOf(query);
    const rows = await this.reader.list(query, 'ERROR_QUEUE', page, query.order);
    return sendPage(rows, page, response).map(presentNotification);
  }

  @Get('summary')
  @Bounded('accounts')
  @ApiOperation({ summary: 'Summarise the error queue by cause' })
  @AnswerList(CauseModel, 'The causes, the most frequent first.', null)
  @Problems()
  summary(): Promise<CauseModel[]> {
    return this.reader.summary();
  }

  @Post(':notification_id/resend')
  @Idempotent()
  @ApiOperation({ summary: 'Resend one notification now' })
  @ApiBody({ type: ResendOneBody, required: false })
  @Answer(202, NotificationDetail)
  @BodyProblems(404, 409)
  async resend(
    @Param() { notification_id: id }: QueuedPath,
    @Body() { reason }: ResendOneBody,
  ): Promise<NotificationDetail> {
    await this.commandBus.execute(new ResendNotification(id, reason ?? null));
    return this.reader.get(id);
  }

  @Post(':notification_id/resolve')
  @Idempotent()
  @ApiOperation({ summary: 'Resolve one notification' })
  @Answer(200, NotificationDetail)
  @BodyProblems(404, 409)
  async resolve(
    @Param() { notification_id: id }: QueuedPath,
    @Body() { reason }: ResolveBody,
  ): Promise<NotificationDetail> {
    await this.commandBus.execute(new ResolveNotification(id, reason));
    return this.reader.get(id);
  }
}
