import { Body, Controller, Get, Param, Post, Put, Res, UseFilters } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CandidateTestPath } from '../../eligibility/eligibility.fields.js';
import { FindEligibilitiesOfTest } from '../../eligibility/eligibility.queries.js';
import type { Caller } from '../../platform/context/caller.js';
import { Access, Bounded, CurrentCaller } from '../../platform/http/access.js';
import { BodyLimit, RawBody, UnsupportedBody } from '../../platform/http/body.js';
import { AnswerEmpty, AnswerList, DriverProblems, Problems } from '../../platform/http/documented.js';
import { ChecksParameters, RequestFaults } from '../../platform/http/request-form.js';
import type { Faults } from '../../platform/validation/faults.js';
import { AccountPath } from '../../platform/validation/identifiers.js';
import { ComponentDownFilter } from './component-down.filter.js';
import { ResultModel, resultText, sendArray } from '../unmatched/result-answers.js';
import { ResultReads } from '../records/result-reads.js';
import { ResultStore } from '../records/result-store.js';
import { DeliverAccountResult, DeliverRegistrationResult, type DeliveredBody } from '../results.commands.js';
import { CandidateResultData, CandidateResultsDetails, MOST_BODY_BYTES } from '../body/results.dto.js';

const KEPT =
  'Unknown members are kept, and sending the same body again changes nothing. The service accepts a number instead of a text, a text instead of an integer, and every form of base64. A refused body is kept for an operator.';

@ApiTags('Results')
@Controller()
@Access('results')
@Bounded('accounts')
@UseFilters(ComponentDownFilter)
@BodyLimit(MOST_BODY_BYTES)
@RawBody()
export class DeliveryController {
  constructor(private readonly commandBus: CommandBus) {}

  @Post('registrations/registration/results')
  @ApiOperation({
    summary: 'Deliver a result by registration',
    description: KEPT,
  })
  @ApiBody({ type: CandidateResultsDetails })
  @AnswerEmpty(200, 'The result was accepted. The response has no body.')
  @ChecksParameters()
  @DriverProblems()
  async deliverByRegistration(
    @Body() body: unknown,
    @RequestFaults() faults: Faults,
    @CurrentCaller() { username, isOperator, accountCodes }: Caller,
  ): Promise<void> {
    const delivered = deliveredBody(body, faults, username);
    await this.commandBus.execute(new DeliverRegistrationResult(delivered, isOperator ? null : [...accountCodes]));
  }

  @Put('accounts/:account_code')
  @ApiOperation({
    summary: 'Deliver a result by account and candidate',
    description: KEPT,
  })
  @ApiBody({ type: CandidateResultData })
  @AnswerEmpty(200, 'The result was accepted. The response has no body.')
  @ChecksParameters()
  @DriverProblems()
  async deliverByAccount(
    @Param() { account_code }: AccountPath,
    @Body() body: unknown,
    @RequestFaults() faults: Faults,
    @CurrentCaller() { username }: Caller,
  ): Promise<void> {
    const delivered = deliveredBody(body, faults, username);
    await this.commandBus.execute(new DeliverAccountResult(delivered, account_code));
  }
}

/**
 * Returns the delivered result body. If the path or the query of the request is invalid, the body is first stored and
 * then refused.
 */
function deliveredBody(body: unknown, faults: Faults, username: string): DeliveredBody {
  if (body instanceof UnsupportedBody) return { ...body, username, isOpaque: true };
  return { bytes: body as Buffer | undefined, username, refusal: faults.isEmpty ? undefined : faults.error() };
}

@ApiTags('Results')
@Controller('accounts/:account_code/candidates/:candidate_id/tests/:test_code/results')
export class ResultsController {
  constructor(
    private readonly queryBus: QueryBus,
    private readonly store: ResultStore,
    private readonly reads: ResultReads,
  ) {}

  @Get()
  @Access('read')
  @ApiOperation({ summary: 'List the results of a candidate for a test' })
  @AnswerList(ResultModel, 'The revisions of all exams of the candidate for the test, newest first.', null)
  @Problems(400, 404)
  async list(
    @Param() { account_code, candidate_id, test_code }: CandidateTestPath,
    @CurrentCaller() { scopes }: Caller,
    @Res() response: Response,
  ): Promise<void> {
    const { store } = this;
    await sendArray(response, async () => {
      await this.queryBus.execute(new FindEligibilitiesOfTest(account_code, candidate_id, test_code));
      const revisions = await store.list(account_code, candidate_id, test_code);
      if (scopes.has('results'))
        await this.reads.record(
          'result',
          revisions.map(({ svc_eligiblity_id, has_photo, has_video_link }) => ({
            subject: svc_eligiblity_id,
            accountCode: account_code,
            photo: has_photo,
            videoLink: has_video_link,
          })),
        );
      return (async function* () {
        const isDriver = scopes.has('results');
        for (const revision of revisions)
          yield resultText(await store.get(revision, { media: isDriver, unreleased: isDriver }));
      })();
    });
  }
}
