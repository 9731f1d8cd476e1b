import { Body, Controller, Delete, Get, Param, Put, Query, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { formatOptionalDateTime, parseDateTime } from '../platform/clock.js';
import { notFound } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';
import { Answer, AnswerEmpty, AnswerList, BodyProblems, Problems } from '../platform/http/documented.js';
import { ChecksMore, RequestFaults } from '../platform/http/request-form.js';
import { PageQuery, pageOf, sendPage } from '../platform/http/paging.js';
import { Faults } from '../platform/validation/faults.js';
import { AccountPath } from '../platform/validation/identifiers.js';
import { fault } from '../platform/validation/rules.js';
import { unknownTestFaults } from './unknown-tests.js';
import type { Voucher } from './voucher.entity.js';
import { DeleteVoucher, PutVoucher } from './vouchers.commands.js';
import { VoucherBody, VoucherModel, VoucherPath } from './vouchers.dto.js';
import { VouchersReader } from './vouchers.reader.js';

@ApiTags('Administration')
@Access('admin')
@Controller('admin/accounts/:account_code/vouchers')
export class VouchersController {
  constructor(
    private readonly reader: VouchersReader,
    private readonly commandBus: CommandBus,
    private readonly queryBus: QueryBus,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List the vouchers of an account with their uses' })
  @AnswerList(VoucherModel)
  @Problems(400)
  async list(
    @Param() { account_code }: AccountPath,
    @Query() query: PageQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<VoucherModel[]> {
    const page = pageOf(query);
    const rows = await this.reader.list(account_code, page);
    return sendPage(rows, page, response).map(present);
  }

  @Get(':code')
  @ApiOperation({ summary: 'Read a voucher' })
  @Answer(200, VoucherModel)
  @Problems(400, 404)
  async get(@Param() { account_code, code }: VoucherPath): Promise<VoucherModel> {
    const voucher = await this.reader.find(account_code, code);
    if (!voucher) throw notFound.error();
    return present(voucher);
  }

  @Put(':code')
  @ApiOperation({
    summary: 'Create a voucher or replace its definition',
    description: 'The count of uses is kept. Voucher codes are case-sensitive.',
  })
  @ChecksMore()
  @Answer(200, VoucherModel)
  @BodyProblems()
  async put(
    @Param() { account_code, code }: VoucherPath,
    @Body() body: VoucherBody,
    @RequestFaults() faults: Faults,
  ): Promise<VoucherModel> {
    if (body.discount_type === 'AMOUNT' && body.currency == null && !faults.concern('/currency'))
      faults.add(fault('required', 'Must be given for AMOUNT.', '/currency'));
    if (!faults.isEmpty)
      faults.add(
        ...(await unknownTestFaults(this.queryBus, account_code, faults.entries('/test_codes', body.test_codes))),
      );
    faults.refuse();
    const voucher = await this.commandBus.execute(
      new PutVoucher(account_code, code, {
        discount_type: body.discount_type,
        discount_value: body.discount_value,
        currency: body.currency?.toUpperCase() ?? null,
        test_codes: body.test_codes ?? [],
        valid_from: body.valid_from == null ? null : parseDateTime(body.valid_from),
        valid_until: body.valid_until == null ? null : parseDateTime(body.valid_until),
        max_uses: body.max_uses ?? 1,
        disabled: body.disabled ?? false,
      }),
    );
    return present(voucher);
  }

  @Delete(':code')
  @ApiOperation({
    summary: 'Delete a voucher',
    description:
      'A voucher cannot be deleted while an eligibility has it (403 `forbidden_operation`). Disable the voucher instead.',
  })
  @AnswerEmpty(204)
  @Problems(400, 404)
  async delete(@Param() { account_code, code }: VoucherPath): Promise<void> {
    await this.commandBus.execute(new DeleteVoucher(account_code, code));
  }
}

function present({ position: _, ...voucher }: Voucher): VoucherModel {
  return {
    ...voucher,
    test_codes: voucher.test_codes ?? [],
    valid_from: formatOptionalDateTime(voucher.valid_from),
    valid_until: formatOptionalDateTime(voucher.valid_until),
  };
}
