import { Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { currentAllowedAccounts } from '../../platform/context/request-context.js';
import { Access } from '../../platform/http/access.js';
import { Answer, AnswerList, Problems } from '../../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../../platform/http/paging.js';
import { StatisticsReader } from '../error-queue/statistics-reader.js';
import { SubscriptionPresenter } from '../subscriptions/subscription-presenter.js';
import { SubscriptionStore } from '../subscriptions/subscription-store.js';
import {
  ResumeSubscription,
  RotateSigningSecret,
  SuspendSubscription,
  VerifySubscription,
} from '../subscriptions/subscriptions.commands.js';
import { SubscriptionModel, SubscriptionPath, SubscriptionWithSecret } from '../subscriptions/subscriptions.dto.js';
import { OwnSubscription } from './partner-side.dto.js';

/** Serves a partner its own subscriptions. */
@ApiTags('Partner')
@Access('partner')
@Controller('partner/subscriptions')
export class OwnSubscriptionsController {
  constructor(
    private readonly store: SubscriptionStore,
    private readonly presenter: SubscriptionPresenter,
    private readonly statistics: StatisticsReader,
    private readonly commandBus: CommandBus,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List one’s own subscriptions' })
  @AnswerList(SubscriptionModel)
  @Problems(400)
  async list(@Query() query: PageQuery, @Res({ passthrough: true }) response: Response): Promise<SubscriptionModel[]> {
    const page = pageOf(query);
    const rows = await this.store.list(currentAllowedAccounts(), page);
    return this.presenter.all(sendPage(rows, page, response));
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read one’s own subscription with its statistics' })
  @Answer(200, OwnSubscription)
  @Problems(404)
  async get(@Param() { id }: SubscriptionPath): Promise<OwnSubscription> {
    const subscription = await this.store.get(id);
    return {
      ...(await this.presenter.one(subscription)),
      statistics: await this.statistics.of(subscription),
    };
  }

  @Post(':id/verify')
  @ApiOperation({ summary: 'Verify one’s own subscription with a sample notification' })
  @Answer(200, SubscriptionModel)
  @Problems(400, 404)
  async verify(@Param() { id }: SubscriptionPath): Promise<SubscriptionModel> {
    return this.presenter.one(await this.commandBus.execute(new VerifySubscription(id)));
  }

  @Post(':id/rotate-secret')
  @ApiOperation({ summary: 'Create a new signing secret for one’s own subscription' })
  @Answer(200, SubscriptionWithSecret)
  @Problems(404)
  async rotateSecret(@Param() { id }: SubscriptionPath): Promise<SubscriptionWithSecret> {
    return this.presenter.withSecret(await this.commandBus.execute(new RotateSigningSecret(id)));
  }

  @Post(':id/suspend')
  @ApiOperation({ summary: 'Suspend one’s own subscription and keep its events' })
  @Answer(200, SubscriptionModel)
  @Problems(404, 409)
  async suspend(@Param() { id }: SubscriptionPath): Promise<SubscriptionModel> {
    return this.presenter.one(await this.commandBus.execute(new SuspendSubscription(id)));
  }

  @Post(':id/resume')
  @ApiOperation({ summary: 'Resume one’s own suspended subscription' })
  @Answer(200, SubscriptionModel)
  @Problems(403, 404, 409)
  async resume(@Param() { id }: SubscriptionPath): Promise<SubscriptionModel> {
    return this.presenter.one(await this.commandBus.execute(new ResumeSubscription(id)));
  }
}
