import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Config } from '../../config.js';
import { formatDateTime } from '../clock.js';
import { Database } from '../database/database.js';
import { currentReach } from '../context/request-context.js';
import { Access } from '../http/access.js';
import { Field } from '../validation/fields.js';
import { PageQuery, pageOf, sendPage } from '../http/paging.js';
import { AnswerList, Problems } from '../http/documented.js';
import { dateTime, integer, listOf, text } from '../validation/rules.js';
import { AuditRow } from './audit-row.entity.js';

class AuditQuery extends PageQuery {
  @Field(text({ min: 1, max: 200 }))
  actor?: string;

  @Field(text({ min: 1, max: 200 }))
  action?: string;

  @Field(text({ min: 1, max: 200 }))
  subject?: string;

  @Field(dateTime(), { description: 'First moment, included.' })
  from?: string;

  @Field(dateTime(), { description: 'Last moment, excluded.' })
  to?: string;
}

class AuditEntryModel {
  @Field({ schema: { type: 'integer' }, faults: () => [] }, { required: true })
  id: number;

  @Field(dateTime(), { required: true })
  at: string;

  @Field(text({ max: 200 }), { required: true, description: 'User name of the caller, or `system`.' })
  actor: string;

  @Field(text({ max: 64 }), { description: 'Consumer key of the application that the call came through.' })
  application: string | null;

  @Field(text({ max: 64 }), { description: 'The account that the subject belongs to.' })
  account_code: string | null;

  @Field(text({ max: 200 }), { required: true })
  action: string;

  @Field(text({ max: 200 }), { required: true })
  subject: string;

  @Field(text({ max: 64 }))
  request_id: string | null;

  @Field(listOf(text({ max: 200 }), 200), { description: 'Names of the members that changed, never their values.' })
  changed: string[] | null;

  @Field(integer(1, 1e9), { description: 'How many calls the row stands for, where it gathers refused ones.' })
  count: number | null;

  @Field(text({ max: 200 }), { description: 'Pseudonym of the address that a refused caller came from.' })
  address: string | null;
}

@ApiTags('Administration')
@Controller('admin/audit')
export class AuditController {
  constructor(
    private readonly database: Database,
    private readonly config: Config,
  ) {}

  @Get()
  @Access('admin', 'support')
  @ApiOperation({
    summary: 'Who did what, newest first',
    description: 'With the scope `support`: what concerns the accounts of the user.',
  })
  @AnswerList(AuditEntryModel)
  @Problems(400)
  async list(
    @Query() query: AuditQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AuditEntryModel[]> {
    const page = pageOf(query);
    const find = this.database.manager.createQueryBuilder(AuditRow, 'row').orderBy('row.id', 'DESC').limit(page.take);
    for (const name of ['actor', 'action', 'subject'] as const)
      if (query[name] !== undefined) find.andWhere(`row.${name} = :${name}`, { [name]: query[name] });
    const reach = currentReach();
    if (reach !== null) find.andWhere('row.account_code = ANY (:reach)', { reach });
    if (query.from !== undefined) find.andWhere('row.at >= :from', { from: query.from });
    if (query.to !== undefined) find.andWhere('row.at < :to', { to: query.to });
    if (page.after !== null) find.andWhere('row.id < :after', { after: page.after });
    const rows = (await find.getMany()).map((row) => ({ ...row, position: row.id }));
    return sendPage(rows, page, request, response, this.config).map(({ position: _, at, ...row }) => ({
      ...row,
      at: formatDateTime(at),
    }));
  }
}
