import { Body, Controller, Get, Param, Post, Put, Query, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { formatDateTime } from '../platform/clock.js';
import { accountNotFound } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';
import { Answer, AnswerList, BodyProblems, Problems } from '../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../platform/http/paging.js';
import { AccountPath } from '../platform/validation/identifiers.js';
import type { Account } from './account.entity.js';
import { ChangeAccount, CreateAccount } from './accounts.commands.js';
import { AccountBody, AccountChangeBody, AccountModel } from './accounts.dto.js';
import { AccountsReader } from './accounts.reader.js';

@ApiTags('Administration')
@Access('admin')
@Controller('admin/accounts')
export class AccountsController {
  constructor(
    private readonly reader: AccountsReader,
    private readonly commandBus: CommandBus,
  ) {}

  @Post()
  @ApiOperation({ summary: 'Open an account' })
  @Answer(201, AccountModel)
  @BodyProblems()
  async create(@Body() { name, expiring_days }: AccountBody): Promise<AccountModel> {
    const { account_code } = await this.commandBus.execute(new CreateAccount(name, expiring_days ?? []));
    return this.find(account_code);
  }

  @Get()
  @ApiOperation({ summary: 'List the accounts' })
  @AnswerList(AccountModel)
  @Problems(400)
  async list(@Query() query: PageQuery, @Res({ passthrough: true }) response: Response): Promise<AccountModel[]> {
    const page = pageOf(query);
    const rows = await this.reader.accounts(page);
    return sendPage(rows, page, response).map(present);
  }

  @Get(':account_code')
  @ApiOperation({ summary: 'Read an account' })
  @Answer(200, AccountModel)
  @Problems(400)
  async get(@Param() { account_code }: AccountPath): Promise<AccountModel> {
    return this.find(account_code);
  }

  @Put(':account_code')
  @ApiOperation({ summary: 'Change the name, the retention periods and the expiring days of an account' })
  @Answer(200, AccountModel)
  @BodyProblems()
  async put(@Param() { account_code }: AccountPath, @Body() body: AccountChangeBody): Promise<AccountModel> {
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    if (given['expiring_days'] === null) given['expiring_days'] = [];
    await this.commandBus.execute(new ChangeAccount(account_code, given));
    return this.find(account_code);
  }

  private async find(accountCode: string): Promise<AccountModel> {
    const account = await this.reader.findAccount(accountCode);
    if (!account) throw accountNotFound.error();
    return present(account);
  }
}

function present(account: Account): AccountModel {
  const { account_code, name, photo_retention_days, video_retention_days, candidate_retention_days } = account;
  return {
    account_code,
    name,
    photo_retention_days,
    video_retention_days,
    candidate_retention_days,
    expiring_days: account.expiring_days,
    created_datetime: formatDateTime(account.created_datetime),
  };
}
