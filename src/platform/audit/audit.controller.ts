import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { QueryBus } from '@nestjs/cqrs';
import type { Response } from 'express';
import { formatOptionalDateTime } from '../clock.js';
import { currentAllowedAccounts } from '../context/request-context.js';
import { Access, Bounded } from '../http/access.js';
import { assertAccountKnown } from '../known-accounts.js';
import { pageOf, sendPage } from '../http/paging.js';
import { Answer, AnswerList, Problems } from '../http/documented.js';
import { AuditEntryModel, AuditQuery, AuditSealModel, presentAuditRow } from './audit.dto.js';
import { AuditReader } from './audit.reader.js';

/**
 * The number of newest seals that a request checks. A busy service creates that many seals in a few minutes. Older
 * seals are not checked.
 */
const SEALS_CHECKED = 50;

@ApiTags('Administration')
@Controller('admin/audit')
export class AuditController {
  constructor(
    private readonly reader: AuditReader,
    private readonly queryBus: QueryBus,
  ) {}

  @Get()
  @Access('admin', 'support')
  @Bounded('accounts')
  @ApiOperation({
    summary: 'List the audit log, newest first',
    description: 'A user with the scope `support` sees only the entries of their own accounts.',
  })
  @AnswerList(AuditEntryModel)
  @Problems(400)
  async list(@Query() query: AuditQuery, @Res({ passthrough: true }) response: Response): Promise<AuditEntryModel[]> {
    await assertAccountKnown(this.queryBus, query.account_code, { parameter: 'account_code' });
    const page = pageOf(query);
    const rows = await this.reader.list(query, currentAllowedAccounts(), page);
    return sendPage(rows, page, response).map(({ position: _, ...row }) => presentAuditRow(row));
  }

  @Get('seals')
  @Access('admin')
  @ApiOperation({
    summary: 'Compare the newest audit rows with their seals',
    description: `The response states up to which row the audit log is sealed, and whether the newest ${SEALS_CHECKED} seals agree with their rows. \`npm run admin -- verify-audit\` compares all seals.`,
  })
  @Answer(200, AuditSealModel)
  @Problems()
  async seals(): Promise<AuditSealModel> {
    const { last_seal_at, oldest_waiting_at, ...state } = await this.reader.seals(SEALS_CHECKED);
    return {
      ...state,
      last_seal_datetime: formatOptionalDateTime(last_seal_at),
      oldest_waiting_datetime: formatOptionalDateTime(oldest_waiting_at),
    };
  }
}
