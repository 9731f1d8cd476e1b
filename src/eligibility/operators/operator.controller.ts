import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { declareFaults } from '../../platform/errors.js';
import { Access, Bounded } from '../../platform/http/access.js';
import { Answer, AnswerList, Problems } from '../../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../../platform/http/paging.js';
import { accountsOfList } from '../../platform/known-accounts.js';
import { Field } from '../../platform/validation/fields.js';
import { oneOf, text } from '../../platform/validation/rules.js';
import { CandidatePath } from '../eligibility.fields.js';
import { OperatorEligibilityModel } from '../operator-record.fields.js';
import { OperatorRecords, WAITS, type Wait } from './operator-records.handlers.js';

declareFaults({
  action_unknown: [
    'The value is not a known action on an eligibility.',
    'Use one of the values that the API description lists for the member.',
  ],
  wait_unknown: ['The value is not a state in which an eligibility waits for an operator.', 'Use APPROVAL or HOLD.'],
});

class WaitingQuery extends PageQuery {
  @Field(oneOf(Object.keys(WAITS) as Wait[], 'wait_unknown'), {
    required: true,
    description:
      'The decision for which the record waits: APPROVAL of special accommodations, or the release of a HOLD.',
  })
  waiting_for: Wait;

  @Field(text({ min: 1, max: 50 }))
  account_code?: string;
}

class RecordPath {
  @Field(text({ min: 1, max: 50 }), { required: true })
  svc_id: string;
}

/**
 * Serves the routes on which operators read eligibility records. decisions.controller.ts serves the routes for
 * operators' decisions.
 */
@ApiTags('Administration')
@Controller('admin/eligibilities')
@Access('admin', 'support')
@Bounded('row')
export class OperatorEligibilitiesController {
  constructor(
    private readonly records: OperatorRecords,
    private readonly queryBus: QueryBus,
  ) {}

  @Get()
  @Bounded('accounts')
  @ApiOperation({ summary: 'List the records that wait for an operator' })
  @AnswerList(OperatorEligibilityModel)
  @Problems(400)
  async waiting(
    @Query() query: WaitingQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OperatorEligibilityModel[]> {
    const page = pageOf(query);
    const accounts = await accountsOfList(this.queryBus, query.account_code);
    const rows = await this.records.waiting(query.waiting_for, accounts, page);
    return this.records.present(sendPage(rows, page, response));
  }

  @Get(':svc_id')
  @ApiOperation({ summary: 'Read one record and the actions that its state allows' })
  @Answer(200, OperatorEligibilityModel)
  @Problems(400, 404)
  get(@Param() { svc_id }: RecordPath): Promise<OperatorEligibilityModel> {
    return this.records.get(svc_id);
  }
}

@ApiTags('Administration')
@Controller('admin/accounts/:account_code/candidates/:candidate_id')
@Access('admin', 'support')
export class CandidateRecordsController {
  constructor(private readonly records: OperatorRecords) {}

  @Get()
  @ApiOperation({ summary: 'List the records of a candidate and the actions that their states allow' })
  @AnswerList(OperatorEligibilityModel, 'All records of the candidate, newest first.', null)
  @Problems(400, 404)
  list(@Param() { account_code, candidate_id }: CandidatePath): Promise<OperatorEligibilityModel[]> {
    return this.records.ofCandidate(account_code, candidate_id);
  }
}
