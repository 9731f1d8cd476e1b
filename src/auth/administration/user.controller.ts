import { Body, Controller, Get, Param, Post, Put, Query, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { formatDateTime } from '../../platform/clock.js';
import { Access } from '../../platform/http/access.js';
import { Answer, AnswerEmpty, AnswerList, BodyProblems, Problems } from '../../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../../platform/http/paging.js';
import { ChecksMore, RequestFaults } from '../../platform/http/request-form.js';
import { Faults } from '../../platform/validation/faults.js';
import { CreateUser, UnlockUser, UpdateUser } from '../auth.commands.js';
import { GetUser, ListUsers, type UserView } from '../auth.queries.js';
import { CreateUserBody, UpdateUserBody, UserModel, UserPath } from './user.dto.js';

@ApiTags('Administration')
@Controller('admin/users')
@Access('admin')
export class UserController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Post()
  @ApiOperation({ summary: 'Create a user' })
  @Answer(201, UserModel, 'The user was created.')
  @ChecksMore()
  @BodyProblems(409)
  async create(@Body() body: CreateUserBody, @RequestFaults() faults: Faults): Promise<UserModel> {
    const { username, password, account_codes, scopes, subscription_ids } = body;
    return toModel(
      await this.commands.execute(
        new CreateUser(username, password, account_codes ?? [], scopes, subscription_ids ?? [], faults),
      ),
    );
  }

  @Get()
  @ApiOperation({ summary: 'List the users' })
  @AnswerList(UserModel)
  @Problems(400)
  async list(@Query() query: PageQuery, @Res({ passthrough: true }) response: Response): Promise<UserModel[]> {
    const page = pageOf(query);
    const users = await this.queries.execute(new ListUsers(page));
    return sendPage(users, page, response).map(toModel);
  }

  @Get(':username')
  @ApiOperation({ summary: 'Read a user' })
  @Answer(200, UserModel)
  @Problems(400, 404)
  async get(@Param() { username }: UserPath): Promise<UserModel> {
    return toModel(await this.queries.execute(new GetUser(username)));
  }

  @Put(':username')
  @ApiOperation({
    summary: 'Change a user',
    description:
      'A member that is left out is not changed. The change applies from the next request of the user. When a scope, an account or a subscription is removed, the password is changed or the user is disabled, the tokens and sessions concerned are revoked permanently. The status is 409 `last_operator` when no user with the scope `admin` could sign in any more.',
  })
  @Answer(200, UserModel)
  @ChecksMore()
  @BodyProblems(404, 409)
  async update(
    @Param() { username }: UserPath,
    @Body() body: UpdateUserBody,
    @RequestFaults() faults: Faults,
  ): Promise<UserModel> {
    const { password, account_codes, scopes, subscription_ids, disabled } = body;
    return toModel(
      await this.commands.execute(
        new UpdateUser(
          username,
          {
            password,
            accountCodes: account_codes === null ? [] : account_codes,
            scopes: scopes === null ? [] : scopes,
            subscriptionIds: subscription_ids === null ? [] : subscription_ids,
            disabled: disabled === null ? false : disabled,
          },
          faults,
        ),
      ),
    );
  }

  @Post(':username/unlock')
  @ApiOperation({
    summary: 'Unlock a user',
    description:
      'The user can sign in again through every application. The count of wrong passwords starts again at zero.',
  })
  @AnswerEmpty(204, 'The user is not locked.')
  @Problems(400, 404)
  async unlock(@Param() { username }: UserPath): Promise<void> {
    await this.commands.execute(new UnlockUser(username));
  }
}

function toModel(view: UserView): UserModel {
  const { username, account_codes, scopes, subscription_ids, disabled, created_datetime } = view;
  return {
    username,
    account_codes,
    scopes,
    subscription_ids,
    disabled,
    created_datetime: formatDateTime(created_datetime),
  };
}
