import { Body, Controller, Get, Param, Post, Put, Query, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { formatDateTime } from '../../platform/clock.js';
import { Access } from '../../platform/http/access.js';
import { Answer, AnswerList, BodyProblems, Problems } from '../../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../../platform/http/paging.js';
import { ChecksMore, RequestFaults } from '../../platform/http/request-form.js';
import { Faults } from '../../platform/validation/faults.js';
import {
  ApplicationCredentialsModel,
  ApplicationModel,
  ApplicationPath,
  CreateApplicationBody,
  UpdateApplicationBody,
} from './application.dto.js';
import { DEFAULT_GRANTS } from '../tokens/application.entity.js';
import { CreateApplication, RotateApplicationSecret, UpdateApplication } from '../auth.commands.js';
import { GetApplication, ListApplications, type ApplicationView } from '../auth.queries.js';

@ApiTags('Administration')
@Controller('admin/applications')
@Access('admin')
export class ApplicationController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Post()
  @ApiOperation({ summary: 'Create an application with a consumer key and secret' })
  @Answer(201, ApplicationCredentialsModel, 'The application was created. The secret is shown only once.')
  @ChecksMore()
  @BodyProblems()
  create(@Body() body: CreateApplicationBody, @RequestFaults() faults: Faults): Promise<ApplicationCredentialsModel> {
    const { name, scopes, grants, account_codes, subscription_ids } = body;
    const assignments = { accountCodes: account_codes ?? [], subscriptionIds: subscription_ids ?? [] };
    return this.commands.execute(new CreateApplication(name, scopes, grants ?? DEFAULT_GRANTS, assignments, faults));
  }

  @Get()
  @ApiOperation({ summary: 'List the applications' })
  @AnswerList(ApplicationModel)
  @Problems(400)
  async list(@Query() query: PageQuery, @Res({ passthrough: true }) response: Response): Promise<ApplicationModel[]> {
    const page = pageOf(query);
    const applications = await this.queries.execute(new ListApplications(page));
    return sendPage(applications, page, response).map(toModel);
  }

  @Get(':consumer_key')
  @ApiOperation({ summary: 'Read an application' })
  @Answer(200, ApplicationModel)
  @Problems(400, 404)
  async get(@Param() { consumer_key }: ApplicationPath): Promise<ApplicationModel> {
    return toModel(await this.queries.execute(new GetApplication(consumer_key)));
  }

  @Put(':consumer_key')
  @ApiOperation({
    summary: 'Change an application',
    description:
      'A member that is left out is not changed. The change applies from the next request of the application. When a scope, or an account or subscription of the application itself, is removed, or the application is disabled, the tokens and sessions concerned are revoked permanently. The status is 409 `console_application` when the application of the console would be disabled or lose the scope `admin`.',
  })
  @Answer(200, ApplicationModel)
  @ChecksMore()
  @BodyProblems(404, 409)
  async update(
    @Param() { consumer_key }: ApplicationPath,
    @Body() body: UpdateApplicationBody,
    @RequestFaults() faults: Faults,
  ): Promise<ApplicationModel> {
    const { name, scopes, grants, account_codes, subscription_ids, disabled } = body;
    const changes = {
      name,
      scopes: scopes === null ? [] : scopes,
      grants: grants === null ? DEFAULT_GRANTS : grants,
      accountCodes: account_codes === null ? [] : account_codes,
      subscriptionIds: subscription_ids === null ? [] : subscription_ids,
      disabled: disabled === null ? false : disabled,
    };
    return toModel(await this.commands.execute(new UpdateApplication(consumer_key, changes, faults)));
  }

  @Post(':consumer_key/rotate-secret')
  @ApiOperation({
    summary: 'Replace the consumer secret',
    description: 'The old secret stops working immediately. Tokens that were already issued stay valid.',
  })
  @Answer(200, ApplicationCredentialsModel, 'The consumer key with its new secret. The secret is shown only once.')
  @Problems(400, 404)
  rotateSecret(@Param() { consumer_key }: ApplicationPath): Promise<ApplicationCredentialsModel> {
    return this.commands.execute(new RotateApplicationSecret(consumer_key));
  }
}

function toModel(view: ApplicationView): ApplicationModel {
  const { position: _, created_datetime, ...shown } = view;
  return { ...shown, created_datetime: formatDateTime(created_datetime) };
}
