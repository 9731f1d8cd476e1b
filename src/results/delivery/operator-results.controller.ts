import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CandidatePath } from '../../eligibility/eligibility.fields.js';
import { FindEligibilities } from '../../eligibility/eligibility.queries.js';
import { formatDateTime } from '../../platform/clock.js';
import { notFound } from '../../platform/errors.js';
import type { Caller } from '../../platform/context/caller.js';
import { Access, CurrentCaller, Bounded } from '../../platform/http/access.js';
import { Answer, AnswerList, Problems } from '../../platform/http/documented.js';
import { Field } from '../../platform/validation/fields.js';
import { testCodeRule } from '../../platform/validation/identifiers.js';
import { boolean, dateTime, integer, oneOf, text } from '../../platform/validation/rules.js';
import {
  anyFaults,
  FAULTS_OF_REVISION,
  ResultModel,
  resultText,
  STATE_OF_RESULT,
  STATE_REASON_OF_RESULT,
} from '../unmatched/result-answers.js';
import type { KeptFault } from '../body/result-judgement.js';
import { ResultReads } from '../records/result-reads.js';
import { OperatorRevisions, type OperatorRevision } from '../records/operator-revisions.js';
import { RESULT_STATES, type ResultState } from '../records/result-state.entity.js';
import { ResultStore } from '../records/result-store.js';
import { RESULT_SOURCES, type ResultSource } from '../body/results.rules.js';

/** A result in the lists for operators, without its body, which may be several megabytes long. */
class ResultSummaryModel {
  @Field(text({ max: 8 }), { required: true })
  svc_eligiblity_id: string;

  @Field(testCodeRule, { required: true })
  test_code: string;

  @Field(integer(1, 2_147_483_647), { required: true })
  revision: number;

  @Field(oneOf(RESULT_SOURCES, 'format_invalid'), { required: true })
  source: ResultSource;

  @Field(dateTime(), { required: true })
  received_datetime: string;

  @Field(text({ max: 200 }), { required: true, description: 'User name of the driver.' })
  username: string;

  @Field(boolean(), {
    required: true,
    description: 'Whether the exam was simulated. A simulated exam changes no state.',
  })
  simulated: boolean;

  @Field(anyFaults, { required: true, description: FAULTS_OF_REVISION })
  faults: readonly KeptFault[];

  @Field(oneOf(RESULT_STATES, 'format_invalid'), { required: true, description: STATE_OF_RESULT })
  state: ResultState;

  @Field(text({ max: 1000, lines: true }), { always: true, description: STATE_REASON_OF_RESULT })
  state_reason: string | null;

  @Field(boolean(), { required: true })
  has_photo: boolean;

  @Field(boolean(), { required: true })
  has_video_link: boolean;
}

class RevisionPath {
  @Field(text({ min: 1, max: 50 }), { required: true })
  svc_id: string;

  @Field(text({ min: 1, max: 9, pattern: /^[1-9][0-9]*$/, form: 'Must be a whole number from 1.', example: '1' }), {
    required: true,
  })
  revision: string;
}

class RevisionQuery {
  @Field(oneOf(['true', 'false'], 'format_invalid'), {
    description:
      'With true, callers with the scope `results` get the photo and the video link, and an audit row is written.',
  })
  media?: string;
}

/** Serves results to operators. The bodies of these results never contain examPassword or extExamToken. */
@ApiTags('Administration')
@Controller('admin')
@Access('admin', 'support')
@Bounded('row')
export class OperatorResultsController {
  constructor(
    private readonly queryBus: QueryBus,
    private readonly revisions: OperatorRevisions,
    private readonly store: ResultStore,
    private readonly reads: ResultReads,
  ) {}

  @Get('accounts/:account_code/candidates/:candidate_id/results')
  @ApiOperation({ summary: 'List the results of a candidate' })
  @AnswerList(ResultSummaryModel, 'All revisions, newest first, without their bodies.', null)
  @Problems(400, 404)
  async list(@Param() { account_code, candidate_id }: CandidatePath): Promise<ResultSummaryModel[]> {
    const records = await this.queryBus.execute(new FindEligibilities(account_code, candidate_id));
    const found = await this.revisions.ofRecords(records.map((record) => record.svc_eligiblity_id));
    return found.map(present);
  }

  @Get('eligibilities/:svc_id/results/:revision')
  @ApiOperation({ summary: 'Read a result, with photo and video link on request' })
  @Answer(200, ResultModel, 'The result.')
  @Problems(400, 404)
  async get(
    @Param() { svc_id, revision }: RevisionPath,
    @Query() { media }: RevisionQuery,
    @CurrentCaller() { scopes }: Caller,
    @Res() response: Response,
  ): Promise<void> {
    const key = { svc_eligiblity_id: svc_id, revision: Number(revision) };
    const found = await this.revisions.find(key);
    if (found === null) throw notFound.error({ detail: 'There is no such result.' });
    const withMedia = media === 'true' && scopes.has('results');
    if (withMedia)
      await this.reads.record('result', [
        {
          subject: svc_id,
          accountCode: found.account_code,
          photo: found.has_photo,
          videoLink: found.has_video_link,
        },
      ]);
    const read = await this.store.get(key, { media: withMedia, unreleased: scopes.has('results') });
    response.type('application/json').send(resultText({ ...read, credentials: null }));
  }
}

function present({ account_code: _, received_datetime, ...revision }: OperatorRevision): ResultSummaryModel {
  return { ...revision, received_datetime: formatDateTime(received_datetime) };
}
