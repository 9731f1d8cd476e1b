import { Body, Controller, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Config } from '../config.js';
import { formatDateTime } from '../platform/clock.js';
import { Database } from '../platform/database/database.js';
import { accountNotFound } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';
import { Answer, AnswerList, BodyProblems, Problems } from '../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../platform/http/paging.js';
import { AccountPath } from '../platform/validation/identifiers.js';
import { Account } from './account.entity.js';
import { CreateAccount, type NewAccount } from './accounts.commands.js';
import { AccountBody, AccountModel } from './accounts.dto.js';

@ApiTags('Administration')
@Access('admin')
@Controller('admin/accounts')
export class AccountsController {
  constructor(
    private readonly database: Database,
    private readonly commandBus: CommandBus,
    private readonly config: Config,
  ) {}

  @Post()
  @ApiOperation({ summary: 'Open an account; its code is made by the service' })
  @Answer(201, AccountModel)
  @BodyProblems()
  async create(@Body() { name }: AccountBody): Promise<AccountModel> {
    return present(await this.commandBus.execute(new CreateAccount(name)));
  }

  @Get()
  @ApiOperation({ summary: 'The accounts' })
  @AnswerList(AccountModel)
  @Problems(400)
  async list(
    @Query() query: PageQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AccountModel[]> {
    const page = pageOf(query);
    const find = this.database.manager
      .createQueryBuilder(Account, 'row')
      .orderBy('row.position', 'DESC')
      .limit(page.take);
    if (page.after !== null) find.where('row.position < :after', { after: page.after });
    return sendPage(await find.getMany(), page, request, response, this.config).map(present);
  }

  @Get(':account_code')
  @ApiOperation({ summary: 'Get an account' })
  @Answer(200, AccountModel)
  @Problems(400)
  async get(@Param() { account_code }: AccountPath): Promise<AccountModel> {
    const account = await this.database.manager.findOneBy(Account, { account_code });
    if (!account) throw accountNotFound.error();
    return present(account);
  }
}

function present({ account_code, name, created_datetime }: NewAccount): AccountModel {
  return { account_code, name, created_datetime: formatDateTime(created_datetime) };
}
