import { Body, Controller, Delete, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Access, Bounded } from '../../platform/http/access.js';
import { Answer, AnswerEmpty, AnswerList, BodyProblems, Problems } from '../../platform/http/documented.js';
import { accountsOfList } from '../../platform/known-accounts.js';
import { pageOf, sendPage } from '../../platform/http/paging.js';
import { SubscriptionPresenter } from './subscription-presenter.js';
import { SubscriptionStore } from './subscription-store.js';
import {
  ChangeSubscription,
  CreateSubscription,
  DeleteSubscription,
  ResumeSubscription,
  RotateSigningSecret,
  SendSample,
  SuspendSubscription,
  VerifySubscription,
} from './subscriptions.commands.js';
import { SampleBody, SampleReport } from './sample-report.dto.js';
import {
  SubscriptionBody,
  SubscriptionModel,
  SubscriptionPatch,
  SubscriptionPath,
  SubscriptionQuery,
  SubscriptionWithSecret,
} from './subscriptions.dto.js';

@ApiTags('Subscriptions')
@Access('admin')
@Bounded('row')
@Controller('admin/subscriptions')
export class SubscriptionsController {
  constructor(
    private readonly commandBus: CommandBus,
    private readonly queryBus: QueryBus,
    private readonly store: SubscriptionStore,
    private readonly presenter: SubscriptionPresenter,
  ) {}

  @Post()
  @ApiOperation({ summary: 'Subscribe a partner to the events of an account' })
  @Answer(201, SubscriptionWithSecret)
  @BodyProblems()
  async create(@Body() body: SubscriptionBody): Promise<SubscriptionWithSecret> {
    return this.presenter.withSecret(await this.commandBus.execute(new CreateSubscription(body)));
  }

  @Get()
  @Bounded('accounts')
  @Access('admin', 'support')
  @ApiOperation({ summary: 'List the subscriptions' })
  @AnswerList(SubscriptionModel)
  @Problems(400)
  async list(
    @Query() query: SubscriptionQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SubscriptionModel[]> {
    const page = pageOf(query);
    const rows = await this.store.list(await accountsOfList(this.queryBus, query.account_code), page);
    return this.presenter.all(sendPage(rows, page, response));
  }

  @Get(':id')
  @Access('admin', 'support')
  @ApiOperation({ summary: 'Read a subscription' })
  @Answer(200, SubscriptionModel)
  @Problems(404)
  async get(@Param() { id }: SubscriptionPath): Promise<SubscriptionModel> {
    return this.presenter.one(await this.store.get(id));
  }

  @Patch(':id')
  @ApiOperation({ summary: 'Change the settings of a subscription' })
  @Answer(200, SubscriptionModel)
  @BodyProblems(404)
  async change(@Param() { id }: SubscriptionPath, @Body() patch: SubscriptionPatch): Promise<SubscriptionModel> {
    return this.presenter.one(await this.commandBus.execute(new ChangeSubscription(id, patch)));
  }

  @Delete(':id')
  @ApiOperation({ summary: 'Delete a subscription and resolve its waiting notifications' })
  @AnswerEmpty(204)
  @Problems(404)
  async delete(@Param() { id }: SubscriptionPath): Promise<void> {
    await this.commandBus.execute(new DeleteSubscription(id));
  }

  @Post(':id/verify')
  @Access('admin', 'support')
  @ApiOperation({ summary: 'Verify a subscription with a sample notification' })
  @Answer(200, SubscriptionModel)
  @Problems(400, 404)
  async verify(@Param() { id }: SubscriptionPath): Promise<SubscriptionModel> {
    return this.presenter.one(await this.commandBus.execute(new VerifySubscription(id)));
  }

  @Post(':id/sample')
  @Access('admin', 'support')
  @ApiOperation({ summary: 'Send a sample notification and report each step' })
  @ApiBody({ type: SampleBody, required: false })
  @Answer(200, SampleReport, 'The report of the sample, whether it was delivered or not.')
  @BodyProblems(404, 409)
  sample(@Param() { id }: SubscriptionPath, @Body() { change_reason, verify }: SampleBody): Promise<SampleReport> {
    return this.commandBus.execute(new SendSample(id, change_reason ?? 'BOOKING_CREATED', verify === true));
  }

  @Post(':id/suspend')
  @Access('admin', 'support')
  @ApiOperation({ summary: 'Suspend a subscription and keep its events' })
  @Answer(200, SubscriptionModel)
  @Problems(404, 409)
  async suspend(@Param() { id }: SubscriptionPath): Promise<SubscriptionModel> {
    return this.presenter.one(await this.commandBus.execute(new SuspendSubscription(id)));
  }

  @Post(':id/resume')
  @Access('admin', 'support')
  @ApiOperation({ summary: 'Resume a suspended subscription' })
  @Answer(200, SubscriptionModel)
  @Problems(404, 409)
  async resume(@Param() { id }: SubscriptionPath): Promise<SubscriptionModel> {
    return this.presenter.one(await this.commandBus.execute(new ResumeSubscription(id)));
  }

  @Post(':id/rotate-secret')
  @ApiOperation({ summary: 'Create a new signing secret' })
  @Answer(200, SubscriptionWithSecret)
  @Problems(404)
  async rotateSecret(@Param() { id }: SubscriptionPath): Promise<SubscriptionWithSecret> {
    return this.presenter.withSecret(await this.commandBus.execute(new RotateSigningSecret(id)));
  }
}
