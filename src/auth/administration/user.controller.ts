import { Body, Controller, Get, HttpCode, Param, Post, Put, Query, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Config } from '../../config.js';
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
    private readonly config: Config,
  ) {}

  @Post()
  @ApiOperation({ summary: 'Make a user' })
  @Answer(201, UserModel, 'Made.')
  @ChecksMore()
  @BodyProblems(409)
  async create(@Body() body: CreateUserBody, @RequestFaults() faults: Faults): Promise<UserModel> {
    const { username, password, account_codes, scopes } = body;
    return toModel(
      await this.commands.execute(new CreateUser(username, password, account_codes ?? [], scopes, faults)),
    );
  }

  @Get()
  @ApiOperation({ summary: 'Users, newest first' })
  @AnswerList(UserModel)
  @Problems(400)
  async list(
    @Query() query: PageQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<UserModel[]> {
    const page = pageOf(query);
    const users = await this.queries.execute(new ListUsers(page));
    return sendPage(users, page, request, response, this.config).map(toModel);
  }

  @Get(':username')
  @ApiOperation({ summary: 'One user' })
  @Answer(200, UserModel)
  @Problems(400, 404)
  async get(@Param() { username }: UserPath): Promise<UserModel> {
    return toModel(await this.queries.execute(new GetUser(username)));
  }

  @Put(':username')
  @ApiOperation({
    summary: 'Change a user',
    description:
      'A member left out stays. The next request of the user is judged by the new state. A scope or an account taken away, a new ' +
      'password and `disabled` end the tokens and sessions that had it, for good. 409 `last_operator`: nobody would be left who can ' +
      'sign in with `admin`.',
  })
  @Answer(200, UserModel)
  @ChecksMore()
  @BodyProblems(404, 409)
  async update(
    @Param() { username }: UserPath,
    @Body() body: UpdateUserBody,
    @RequestFaults() faults: Faults,
  ): Promise<UserModel> {
    const { password, account_codes, scopes, disabled } = body;
    return toModel(
      await this.commands.execute(
        new UpdateUser(
          username,
          {
            password,
            accountCodes: account_codes === null ? [] : account_codes,
            scopes: scopes === null ? [] : scopes,
            disabled: disabled === null ? false : disabled,
          },
          faults,
        ),
      ),
    );
  }

  @Post(':username/unlock')
  @HttpCode(204)
  @ApiOperation({
    summary: 'End the lock-out of a user',
    description: 'Through every application. Wrong passwords are counted anew.',
  })
  @AnswerEmpty(204, 'Unlocked, or not locked at all.')
  @Problems(400, 404)
  async unlock(@Param() { username }: UserPath): Promise<void> {
    await this.commands.execute(new UnlockUser(username));
  }
}

function toModel({ username, account_codes, scopes, disabled, created_datetime }: UserView): UserModel {
  return { username, account_codes, scopes, disabled, created_datetime: formatDateTime(created_datetime) };
}
