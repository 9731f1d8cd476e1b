import { Controller, Get, Param, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { FindAttributeKeys } from '../accounts/accounts.queries.js';
import { ReadEligibilities, type ExportedEligibility } from '../eligibility/eligibility.queries.js';
import { Access } from '../platform/http/access.js';
import { Problems } from '../platform/http/documented.js';
import { FindVouchersOfMany } from '../vouchers/vouchers.queries.js';
import { attributeColumn, EXPORTED, isCandidateColumn, LIST_SEPARATOR } from './columns.js';
import { CsvAnswer, sendCsv } from './csv-answer.js';
import { writeLine } from './csv-cell.js';
import { BYTE_ORDER_MARK } from './report.js';
import { AccountPath } from '../platform/validation/identifiers.js';

/**
 * The number of eligibility records that one query of an export reads. It is small, so that other requests wait only
 * briefly.
 */
const STRETCH = 200;

@ApiTags('Import and export')
@Controller('accounts/:account_code/eligibilities.csv')
export class ExportController {
  constructor(private readonly queryBus: QueryBus) {}

  @Get()
  @Access('read')
  @ApiOperation({ summary: 'Export the eligibilities of the account as a CSV file' })
  @CsvAnswer(
    'The file is in UTF-8 with a byte order mark. Text that a spreadsheet would read as a formula begins with an apostrophe, ' +
      'which an import removes.',
  )
  @Problems(400)
  async get(@Param() { account_code }: AccountPath, @Res() response: Response): Promise<void> {
    await sendCsv(response, `eligibilities-${account_code}.csv`, this.lines(account_code));
  }

  /**
   * Yields the lines of the exported file in batches. Each batch is read by its own statement, so that a slow client
   * holds no database connection.
   */
  private async *lines(accountCode: string): AsyncIterable<string> {
    const keys = await this.queryBus.execute(new FindAttributeKeys(accountCode));
    yield BYTE_ORDER_MARK + writeLine([...EXPORTED, ...keys.map(attributeColumn)]);
    for (let before: number | null = null; ;) {
      const records: ExportedEligibility[] = await this.queryBus.execute(
        new ReadEligibilities(accountCode, before, STRETCH),
      );
      if (records.length === 0) return;
      const vouchers = await this.queryBus.execute(
        new FindVouchersOfMany(records.map(({ model }) => model.svc_eligiblity_id)),
      );
      yield records.map((record) => lineOf(record, vouchers.get(record.model.svc_eligiblity_id) ?? [], keys)).join('');
      before = records.at(-1)!.position;
    }
  }
}

function lineOf(record: ExportedEligibility, voucherCodes: string[], attributeKeys: readonly string[]): string {
  const { candidate, ...model } = record.model;
  const members: Record<string, unknown> = {
    ...model,
    registration_mode: record.registration_mode,
    voucher_codes: voucherCodes,
  };
  const ofCandidate = candidate as unknown as Record<string, unknown>;
  const attributes = new Map(candidate.additional_attributes?.map(({ key, value }) => [key, value]));
  return writeLine([
    ...EXPORTED.map((name) => textOf((isCandidateColumn(name) ? ofCandidate : members)[name] as Cell)),
    ...attributeKeys.map((key) => attributes.get(key) ?? ''),
  ]);
}

type Cell = string | boolean | string[] | null;

function textOf(value: Cell): string {
  if (value === null) return '';
  return Array.isArray(value) ? value.join(LIST_SEPARATOR) : String(value);
}
