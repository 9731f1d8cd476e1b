import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { currentAllowedSubscriptions } from '../../platform/context/request-context.js';
import { notFound } from '../../platform/errors.js';
import { Access } from '../../platform/http/access.js';
import { Answer, AnswerList, BodyProblems, Problems } from '../../platform/http/documented.js';
import { pageOf, sendPage } from '../../platform/http/paging.js';
import { Idempotent } from '../../platform/unit-of-work/idempotency.js';
import { ResendNotification, StartJob } from '../error-queue/error-queue.commands.js';
import { JobStarted } from '../error-queue/jobs.dto.js';
import { NotificationReader, presentNotification } from '../error-queue/notification-reader.js';
import {
  NotificationDetail,
  NotificationModel,
  NotificationPath,
  NotificationQuery,
  ResendOneBody,
} from '../error-queue/notifications.dto.js';
import { OwnReplayBody } from './partner-side.dto.js';

/** The stored reason of a job that a partner starts. Only operators enter their own reasons. */
const REASON = 'Requested by the partner.';

/** Serves a partner the notifications for its own subscriptions. */
@ApiTags('Partner')
@Access('partner')
@Controller('partner/notifications')
export class OwnNotificationsController {
  constructor(
    private readonly reader: NotificationReader,
    private readonly commandBus: CommandBus,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List the notifications to one’s own subscriptions' })
  @AnswerList(NotificationModel)
  @Problems(400, 404)
  async list(
    @Query() query: NotificationQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<NotificationModel[]> {
    const page = pageOf(query);
    const state = query.state ?? undefined;
    const rows = await (query.exam_in == null
      ? this.reader.list(query, state, page, query.order)
      : this.reader.listByExam(query, query.exam_in, state, page));
    return sendPage(rows, page, response).map(presentNotification);
  }

  @Post('replay')
  @Idempotent()
  @ApiOperation({ summary: 'Have notifications sent again' })
  @ApiBody({ type: OwnReplayBody, required: false })
  @Answer(202, JobStarted, 'A job was created.')
  @BodyProblems(404)
  async replay(@Body() filter: OwnReplayBody, @Res({ passthrough: true }) response: Response): Promise<JobStarted> {
    const own = currentAllowedSubscriptions() ?? [];
    if (own.length === 0) throw notFound.error({ detail: 'The caller has no subscription.' });
    const { jobId, matched } = await this.commandBus.execute(
      new StartJob('REPLAY', { ...filter, ...only(own) }, REASON, false),
    );
    response.status(202);
    return { job_id: jobId, matched };
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read a notification to one’s own subscription with its body and all attempts' })
  @Answer(200, NotificationDetail)
  @Problems(404)
  get(@Param() { id }: NotificationPath): Promise<NotificationDetail> {
    return this.reader.get(id);
  }

  @Post(':id/resend')
  @Idempotent()
  @ApiOperation({ summary: 'Have a notification of the error queue sent again now' })
  @ApiBody({ type: ResendOneBody, required: false })
  @Answer(202, NotificationDetail)
  @BodyProblems(404, 409)
  async resend(@Param() { id }: NotificationPath, @Body() { reason }: ResendOneBody): Promise<NotificationDetail> {
    await this.commandBus.execute(new ResendNotification(id, reason ?? null));
    return this.reader.get(id);
  }
}

/**
 * Returns a filter by the partner's subscription, if the partner has only one. Operators can then see in the job's
 * filter which partner the job concerns.
 */
function only(subscriptionIds: readonly string[]): { subscription_id?: string } {
  return subscriptionIds.length === 1 ? { subscription_id: subscriptionIds[0] } : {};
}
