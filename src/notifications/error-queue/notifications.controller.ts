import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Config } from '../../config.js';
import { Access } from '../../platform/http/access.js';
import { Answer, AnswerList, Problems } from '../../platform/http/documented.js';
import { pageOf, sendPage } from '../../platform/http/paging.js';
import { NotificationReader, presentNotification } from './notification-reader.js';
import { NotificationDetail, NotificationModel, NotificationQuery } from './notifications.dto.js';

@ApiTags('Notifications')
@Access('admin')
@Controller('admin/notifications')
export class NotificationsController {
  constructor(
    private readonly reader: NotificationReader,
    private readonly config: Config,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Notifications of all states' })
  @AnswerList(NotificationModel)
  @Problems(400)
  async list(
    @Query() query: NotificationQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<NotificationModel[]> {
    const page = pageOf(query);
    const rows = await this.reader.list(query, query.state ?? undefined, page);
    return sendPage(rows, page, request, response, this.config).map(presentNotification);
  }

  @Get(':id')
  @ApiOperation({ summary: 'A notification with its body and all attempts' })
  @Answer(200, NotificationDetail)
  @Problems(404)
  get(@Param('id') id: string): Promise<NotificationDetail> {
    return this.reader.get(id);
  }
}
