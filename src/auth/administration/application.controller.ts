import { Body, Controller, Get, Param, Post, Put, Query, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { formatDateTime } from '../../platform/clock.js';
import { Access } from '../../platform/http/access.js';
import { Answer, AnswerList, BodyProblems, Problems } from '../../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../../platform/http/paging.js';
import {
  ApplicationCredentialsModel,
  ApplicationModel,
  ApplicationPath,
  CreateApplicationBody,
  UpdateApplicationBody,
} from './application.dto.js';
import { GRANTS } from '../tokens/application.entity.js';
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
  @BodyProblems()
  create(@Body() { name, scopes, grants }: CreateApplicationBody): Promise<ApplicationCredentialsModel> {
    return this.commands.execute(new CreateApplication(name, scopes, grants ?? GRANTS));
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
      'A member that is left out is not changed. The change applies from the next request of the application. When a scope is removed or the application is disabled, the tokens and sessions concerned are revoked permanently. The status is 409 `console_application` when the application of the console would be disabled or lose the scope `admin`.',
  })
  @Answer(200, ApplicationModel)
  @BodyProblems(404, 409)
  async update(
    @Param() { consumer_key }: ApplicationPath,
    @Body() body: UpdateApplicationBody,
  ): Promise<ApplicationModel> {
    const { name, scopes, grants, disabled } = body;
    return toModel(
      await this.commands.execute(
        new UpdateApplication(consumer_key, {
          name,
          scopes: scopes === null ? [] : scopes,
          grants: grants === null ? GRANTS : grants,
          disabled: disabled === null ? false : disabled,
        }),
      ),
    );
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
  const { consumer_key, name, scopes, grants, disabled, created_datetime } = view;
  return { consumer_key, name, scopes, grants, disabled, created_datetime: formatDateTime(created_datetime) };
}
