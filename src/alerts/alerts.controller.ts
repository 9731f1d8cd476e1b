import { Body, Controller, Delete, Get, Param, Post, Put, Query, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Access } from '../platform/http/access.js';
import { Answer, AnswerEmpty, AnswerList, BodyProblems, Problems } from '../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../platform/http/paging.js';
import { DeleteAlert, PutAlert, TestAlert } from './alerts.commands.js';
import { AlertBody, AlertModel, AlertPath } from './alerts.dto.js';
import { AlertsReader } from './alerts.reader.js';

@ApiTags('Alerts')
@Access('admin')
@Controller('admin/alerts')
export class AlertsController {
  constructor(
    private readonly reader: AlertsReader,
    private readonly commandBus: CommandBus,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List the alerts' })
  @AnswerList(AlertModel)
  @Problems(400)
  async list(@Query() query: PageQuery, @Res({ passthrough: true }) response: Response): Promise<AlertModel[]> {
    const page = pageOf(query);
    return this.reader.present(sendPage(await this.reader.list(page), page, response));
  }

  @Get(':name')
  @ApiOperation({ summary: 'Read an alert' })
  @Answer(200, AlertModel)
  @Problems(400, 404)
  async get(@Param() { name }: AlertPath): Promise<AlertModel> {
    return (await this.reader.present([await this.reader.get(name)]))[0];
  }

  @Put(':name')
  @ApiOperation({
    summary: 'Create an alert or replace its definition',
    description:
      'An alert informs people by mail, or another system by a request to its webhook, when one of its conditions begins ' +
      'to hold. It informs again when the condition has ended and begins again. Values of headers are write-only.',
  })
  @Answer(200, AlertModel)
  @BodyProblems()
  async put(@Param() { name }: AlertPath, @Body() body: AlertBody): Promise<AlertModel> {
    return (await this.reader.present([await this.commandBus.execute(new PutAlert(name, body))]))[0];
  }

  @Delete(':name')
  @ApiOperation({ summary: 'Delete an alert' })
  @AnswerEmpty(204)
  @Problems(400, 404)
  async delete(@Param() { name }: AlertPath): Promise<void> {
    await this.commandBus.execute(new DeleteAlert(name));
  }

  @Post(':name/test')
  @ApiOperation({
    summary: 'Send a test message',
    description:
      'The message is sent at once, also for an alert that is disabled. The response waits until the mail server or the ' +
      'webhook has taken the message; otherwise it is 400 `alert_not_delivered` with the cause.',
  })
  @Answer(200, AlertModel, 'The test message was delivered.')
  @Problems(400, 404)
  async test(@Param() { name }: AlertPath): Promise<AlertModel> {
    return (await this.reader.present([await this.commandBus.execute(new TestAlert(name))]))[0];
  }
}
