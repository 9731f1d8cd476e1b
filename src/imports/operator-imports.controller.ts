import { Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { currentAllowedAccounts } from '../platform/context/request-context.js';
import { notFound } from '../platform/errors.js';
import { Access, Bounded } from '../platform/http/access.js';
import { Answer, AnswerList, Problems } from '../platform/http/documented.js';
import { pageOf, sendPage } from '../platform/http/paging.js';
import { accountsOfList } from '../platform/known-accounts.js';
import { Idempotent } from '../platform/unit-of-work/idempotency.js';
import { Field } from '../platform/validation/fields.js';
import { text } from '../platform/validation/rules.js';
import { ImportEndings } from './import-endings.js';
import { ImportList } from './import-list.js';
import { ListedImportModel, OperatorImportPath, OwnImportsQuery, presentListed } from './imports.dto.js';

class ImportsQuery extends OwnImportsQuery {
  @Field(text({ min: 1, max: 50 }))
  account_code?: string;
}

@ApiTags('Import and export')
@Controller('admin/imports')
@Access('admin', 'support')
@Bounded('accounts')
export class OperatorImportsController {
  constructor(
    private readonly imports: ImportList,
    private readonly endings: ImportEndings,
    private readonly queryBus: QueryBus,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List the imports of all accounts' })
  @AnswerList(ListedImportModel)
  @Problems(400)
  async list(
    @Query() query: ImportsQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ListedImportModel[]> {
    const page = pageOf(query);
    const accounts = await accountsOfList(this.queryBus, query.account_code);
    const rows = await this.imports.list(accounts, query.state ?? null, page);
    return sendPage(rows, page, response).map(presentListed);
  }

  @Post(':import_id/abort')
  @Bounded('row')
  @Idempotent()
  @ApiOperation({ summary: 'Abort an import of any account' })
  @Answer(200, ListedImportModel)
  @Problems(404, 409)
  async abort(@Param() { import_id: id }: OperatorImportPath): Promise<ListedImportModel> {
    const found = await this.imports.find(id, currentAllowedAccounts());
    if (found === null) throw notFound.error({ detail: 'There is no such import.' });
    return presentListed(await this.endings.abort(found.import_id, 'ABORTED_BY_OPERATOR'));
  }
}
