import { Body, Controller, Delete, Get, Param, Post, Put, Query, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiBody, ApiExtraModels, ApiOperation, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { Response } from 'express';
import { Clock, parseDateTime } from '../platform/clock.js';
import { Access } from '../platform/http/access.js';
import { Answer, AnswerEmpty, AnswerList, BodyProblems, Problems } from '../platform/http/documented.js';
import { ChecksMore, ChecksParameters, ReadBodyBy, RequestFaults } from '../platform/http/request-form.js';
import { Faults } from '../platform/validation/faults.js';
import { Field, isObject } from '../platform/validation/fields.js';
import { IdempotentWithOthers } from '../platform/unit-of-work/idempotency.js';
import { PageQuery, pageOf, sendPage } from '../platform/http/paging.js';
import { AccountPath, testCodeRule } from '../platform/validation/identifiers.js';
import { dateTime, text } from '../platform/validation/rules.js';
import { inspectBody } from '../platform/validation/members.js';
import { CancelEligibility, CreateEligibility, ReplaceVouchers, UpdateEligibility } from './eligibility.commands.js';
import { FindAppliedVouchers } from '../vouchers/vouchers.queries.js';
import { EligibilityModel, EligibilityResponseModel, voucherCodesRule } from './eligibility-model.fields.js';
import {
  CandidatePath,
  CandidateTestPath,
  clientEligibilityIdRule,
  ELIGIBILITY_STATUSES,
  type EligibilityStatus,
  statusAt,
} from './eligibility.fields.js';
import { presentEligibility } from './eligibility-record.js';
import { RecordsOfTest } from './eligibility-store.js';
import { FindEligibilities, FindEligibilitiesOfTest, GetEligibility } from './eligibility.queries.js';
import { ListEligibilities } from './list.handlers.js';
import { statusesOf, statusFilter } from './read.handlers.js';

class StatusQuery {
  @Field(statusFilter)
  status?: unknown;
}

class ReconciliationQuery extends PageQuery {
  @Field(statusFilter)
  status?: string;

  @Field(testCodeRule)
  test_code?: string;

  @Field(clientEligibilityIdRule, { description: 'Only the records that the client system knows by this id.' })
  client_eligibility_id?: string;

  @Field(dateTime(), {
    description:
      'Only records that were changed at this time or later; a record also changes at the end of its window. The ' +
      'time of a ' +
      'change is taken before its commit, so a change that is committed late can be missed. Start two minutes ' +
      'before your ' +
      'previous request, or use the change feed (`/accounts/{account_code}/changes`), which has no such gap.',
  })
  updated_since?: string;
}

class RecordPath extends AccountPath {
  @Field(text({ min: 1, max: 50 }), { required: true, description: 'The `svc_eligiblity_id` of the record.' })
  svc_id: string;
}

class VoucherCodesBody {
  @Field(voucherCodesRule, { required: true })
  voucher_codes: string[];
}

/** The body of a request with voucher codes. The list `[…]` and the object `{"voucher_codes": […]}` are equivalent. */
@ReadBodyBy(readVoucherCodes)
class VoucherCodes {
  voucher_codes: string[];
  pointer: string;
}

@ApiTags('Eligibilities')
@Controller('accounts/:account_code')
export class EligibilityController {
  constructor(
    private readonly commandBus: CommandBus,
    private readonly queryBus: QueryBus,
    private readonly clock: Clock,
  ) {}

  @Post('candidates')
  @Access('create')
  @IdempotentWithOthers()
  @ApiOperation({ summary: 'Create an eligibility' })
  @ChecksMore()
  @Answer(200, EligibilityResponseModel, 'The eligibility was created.')
  @BodyProblems()
  async create(
    @Param() { account_code }: AccountPath,
    @Body() body: EligibilityModel,
    @RequestFaults() faults: Faults,
  ): Promise<EligibilityResponseModel> {
    const record = await this.commandBus.execute(new CreateEligibility(account_code, body, faults));
    return presentEligibility(record, this.clock.now());
  }

  @Put('candidates/:candidate_id/tests/:test_code')
  @Access('update')
  @ApiOperation({ summary: 'Update an eligibility' })
  @ChecksMore()
  @AnswerEmpty(204, 'Updated.')
  @BodyProblems(404)
  async update(
    @Param() path: CandidateTestPath,
    @Body() body: EligibilityModel,
    @RequestFaults() faults: Faults,
  ): Promise<void> {
    await this.commandBus.execute(
      new UpdateEligibility(path.account_code, path.candidate_id, path.test_code, body, faults),
    );
  }

  @Delete('candidates/:candidate_id/tests/:test_code')
  @Access('delete')
  @ApiOperation({ summary: 'Cancel an eligibility' })
  @AnswerEmpty(204, 'The eligibility is cancelled, and its vouchers can be used again.')
  @Problems(400, 404)
  async cancel(@Param() path: CandidateTestPath): Promise<void> {
    await this.commandBus.execute(new CancelEligibility(path.account_code, path.candidate_id, path.test_code));
  }

  @Get('candidates/:candidate_id')
  @Access('read')
  @ApiOperation({ summary: 'List the eligibilities of a candidate' })
  @AnswerList(EligibilityResponseModel, 'The records, newest first.', null)
  @Problems(400, 404)
  async ofCandidate(@Param() path: CandidatePath): Promise<EligibilityResponseModel[]> {
    return this.ofStatuses(path, ELIGIBILITY_STATUSES);
  }

  @Get('candidates/:candidate_id/eligibilities')
  @Access('read')
  @ApiOperation({ summary: 'List the eligibilities of a candidate by status' })
  @AnswerList(EligibilityResponseModel, 'The records, newest first.', null)
  @Problems(400, 404)
  @ChecksParameters()
  async ofStatus(
    @Param() path: CandidatePath,
    @Query() query: StatusQuery,
    @RequestFaults() faults: Faults,
  ): Promise<EligibilityResponseModel[]> {
    const statuses = statusesOf(query.status ?? 'all', faults);
    faults.refuse();
    return this.ofStatuses(path, statuses);
  }

  @Get('candidates/:candidate_id/tests/:test_code')
  @Access('read')
  @ApiOperation({ summary: 'List the eligibilities of a candidate for a test' })
  @AnswerList(EligibilityResponseModel, 'The records, newest first.', null)
  @Problems(400, 404)
  async ofTest(
    @Param() { account_code, candidate_id, test_code }: CandidateTestPath,
  ): Promise<EligibilityResponseModel[]> {
    const records = await this.queryBus.execute(new FindEligibilitiesOfTest(account_code, candidate_id, test_code));
    const now = this.clock.now();
    return records.map((record) => presentEligibility(record, now));
  }

  @Put('candidates/:candidate_id/tests/:test_code/vouchers')
  @Access('update')
  @ApiOperation({ summary: 'Replace the voucher codes of an eligibility' })
  @ApiExtraModels(VoucherCodesBody)
  @ApiBody({
    schema: {
      oneOf: [voucherCodesRule.schema, { $ref: getSchemaPath(VoucherCodesBody) }],
    },
  })
  @ChecksMore()
  @AnswerEmpty(204, 'The voucher codes were replaced.')
  @BodyProblems(404)
  async replaceVouchers(
    @Param() path: CandidateTestPath,
    @Body() { voucher_codes, pointer }: VoucherCodes,
    @RequestFaults() faults: Faults,
  ): Promise<void> {
    await this.commandBus.execute(
      new ReplaceVouchers(path.account_code, path.candidate_id, path.test_code, voucher_codes, pointer, faults),
    );
  }

  @Get('candidates/:candidate_id/tests/:test_code/vouchers')
  @Access('read')
  @ApiOperation({
    summary: 'Read the voucher codes of an eligibility',
    description:
      'The response has the codes of the eligibility that an update would change. If there is none, it has the codes of the newest eligibility.',
  })
  @Answer(200, VoucherCodesBody)
  @Problems(400, 404)
  async vouchers(@Param() { account_code, candidate_id, test_code }: CandidateTestPath): Promise<VoucherCodesBody> {
    const records = await this.queryBus.execute(new FindEligibilitiesOfTest(account_code, candidate_id, test_code));
    const now = this.clock.now();
    const ofTest = new RecordsOfTest(records.map((record) => ({ ...record, status: statusAt(record, now) })));
    const record = ofTest.changeable ?? records[0];
    return { voucher_codes: await this.queryBus.execute(new FindAppliedVouchers(record.svc_eligiblity_id)) };
  }

  @Get('eligibilities')
  @Access('read')
  @ApiOperation({ summary: 'List all eligibilities of the account' })
  @AnswerList(EligibilityResponseModel)
  @Problems(400)
  @ChecksParameters()
  async ofAccount(
    @Param() { account_code }: AccountPath,
    @Query() query: ReconciliationQuery,
    @RequestFaults() faults: Faults,
    @Res({ passthrough: true }) response: Response,
  ): Promise<EligibilityResponseModel[]> {
    const statuses = statusesOf(query.status ?? 'all', faults);
    faults.refuse();
    // The filter and the response use the same current time. Otherwise, a record could expire after the filter has
    // selected it and before its response is built.
    const now = this.clock.now();
    const page = pageOf(query);
    const filter = {
      statuses,
      testCode: query.test_code,
      clientEligibilityId: query.client_eligibility_id,
      updatedSince: query.updated_since === undefined ? undefined : parseDateTime(query.updated_since)!,
    };
    const records = await this.queryBus.execute(new ListEligibilities(account_code, now, filter, page));
    return sendPage(records, page, response).map((record) => presentEligibility(record, now));
  }

  @Get('eligibilities/:svc_id')
  @Access('read')
  @ApiOperation({ summary: 'Read one eligibility by its svc_eligiblity_id' })
  @Answer(200, EligibilityResponseModel)
  @Problems(400, 404)
  async one(@Param() { account_code, svc_id }: RecordPath): Promise<EligibilityResponseModel> {
    const record = await this.queryBus.execute(new GetEligibility(account_code, svc_id));
    return presentEligibility(record, this.clock.now());
  }

  private async ofStatuses(
    { account_code, candidate_id }: CandidatePath,
    statuses: readonly EligibilityStatus[],
  ): Promise<EligibilityResponseModel[]> {
    const records = await this.queryBus.execute(new FindEligibilities(account_code, candidate_id));
    const now = this.clock.now();
    return records
      .filter((record) => statuses.includes(statusAt(record, now)))
      .map((record) => presentEligibility(record, now));
  }
}

function readVoucherCodes(value: unknown, faults: Faults): VoucherCodes {
  const isList = Array.isArray(value);
  if (!isList && value !== undefined && !isObject(value)) {
    const detail = 'The body must be a list of codes, or an object with voucher_codes.';
    faults.add({ pointer: '', code: 'type_invalid', detail });
    return { voucher_codes: [], pointer: '' };
  }
  if (isList) faults.add(...voucherCodesRule.faults(value));
  const voucher_codes = isList ? (value as string[]) : inspectBody(VoucherCodesBody, value, faults).body.voucher_codes;
  return { voucher_codes, pointer: isList ? '' : '/voucher_codes' };
}
