import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Config } from '../config.js';
import { formatDateTime } from '../platform/clock.js';
import { Access, Bounded } from '../platform/http/access.js';
import { AnswerList, Problems } from '../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../platform/http/paging.js';
import { accountsOfList } from '../platform/known-accounts.js';
import { Field } from '../platform/validation/fields.js';
import { dateTime, oneOf, text } from '../platform/validation/rules.js';
import { ImportList } from './import-list.js';
import { ImportModel, presentImport } from './imports.dto.js';
import { IMPORT_STATES, type ImportState } from './imports.rules.js';

class ImportsQuery extends PageQuery {
  @Field(text({ min: 1, max: 50 }))
  account_code?: string;

  @Field(oneOf(IMPORT_STATES, 'state_unknown'))
  state?: ImportState;
}

class ListedImportModel extends ImportModel {
  @Field(text({ max: 50 }), { required: true })
  account_code: string;

  @Field(text({ max: 200 }), { required: true, description: 'Who sent it.' })
  username: string;

  @Field(dateTime(), { required: true })
  received: string;
}

@ApiTags('Import and export')
@Controller('admin/imports')
@Access('admin', 'support')
@Bounded('reach')
export class OperatorImportsController {
  constructor(
    private readonly imports: ImportList,
    private readonly queryBus: QueryBus,
    private readonly config: Config,
  ) {}

  @Get()
  @ApiOperation({ summary: 'The imports of all accounts' })
  @AnswerList(ListedImportModel)
  @Problems(400)
  async list(
    @Query() query: ImportsQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ListedImportModel[]> {
    const page = pageOf(query);
    const accounts = await accountsOfList(this.queryBus, query.account_code);
    const rows = await this.imports.list(accounts, query.state ?? null, page);
    return sendPage(rows, page, request, response, this.config).map((row) => ({
      ...presentImport(row),
      account_code: row.account_code,
      username: row.username,
      received: formatDateTime(row.received_datetime),
    }));
  }
}
