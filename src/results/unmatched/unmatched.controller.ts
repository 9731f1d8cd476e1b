import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { declareFaults, validationError } from '../../platform/errors.js';
import type { Caller } from '../../platform/context/caller.js';
import { Access, Bounded, CurrentCaller } from '../../platform/http/access.js';
import { lacking } from '../../platform/http/challenge.js';
import { Answer, AnswerEmpty, AnswerList, BodyProblems, Problems } from '../../platform/http/documented.js';
import { OperatorEligibilityModel } from '../../eligibility/operator-record.fields.js';
import { Field } from '../../platform/validation/fields.js';
import { PageQuery, pageOf, sendPage } from '../../platform/http/paging.js';
import { oneOf, text } from '../../platform/validation/rules.js';
import { MOST_BODY_BYTES } from '../body/results.dto.js';
import {
  sendArray,
  unmatchedDetailText,
  UnmatchedResultDetailModel,
  UnmatchedResultModel,
  unmatchedText,
} from './result-answers.js';
import { OperatorRevisions } from '../records/operator-revisions.js';
import { ResultReads } from '../records/result-reads.js';
import { LikelyExamModel } from './likely-exams.fields.js';
import { ExamOfCode } from './exam-of-code.js';
import { LikelyExams } from './likely-exams.js';
import { AcceptUnmatchedResult, RejectUnmatchedResult } from '../results.commands.js';
import { unmatchedResultNotFound } from '../results.errors.js';
import { UnmatchedStore, type ReadUnmatched } from './unmatched-store.js';

declareFaults({
  one_required: ['Exactly one of several members must be sent.', 'Send one of the members, and leave the others out.'],
});

const NO_BYTES =
  'The body of this result is a JSON object. `GET /admin/unmatched-results/{id}` returns it as the member `body`.';

class UnmatchedPath {
  @Field(text({ min: 1, max: 50 }), { required: true })
  id: string;
}

class MediaQuery {
  @Field(oneOf(['true', 'false'], 'format_invalid'), {
    description: 'With false the result has no photo, video link and credentials, and no audit row is written.',
  })
  media?: string;
}

class ExamQuery {
  @Field(text({ min: 1, max: 50, example: 'B7K2M9QX4T' }), { required: true })
  code: string;
}

class AcceptRequest {
  @Field(text({ min: 1, max: 50, example: 'B7K2M9QX4T' }), {
    description: 'The exam by its booking code. Send either this member or svc_eligiblity_id.',
  })
  booking_code?: string | null;

  @Field(text({ min: 1, max: 50, example: 'K7MWQ2XA' }), {
    description: 'The exam by its record id. Send either this member or booking_code.',
  })
  svc_eligiblity_id?: string | null;

  @Field(text({ min: 1, max: 1000, notBlank: true, lines: true }))
  reason?: string | null;
}

class RejectRequest {
  @Field(text({ min: 1, max: 1000, notBlank: true, lines: true }), { required: true })
  reason: string;
}

@ApiTags('Administration')
@Controller('admin/unmatched-results')
@Access('admin', 'support')
@Bounded('row')
export class UnmatchedResultsController {
  constructor(
    private readonly commandBus: CommandBus,
    private readonly store: UnmatchedStore,
    private readonly reads: ResultReads,
    private readonly revisions: OperatorRevisions,
    private readonly likely: LikelyExams,
    private readonly examOfCode: ExamOfCode,
  ) {}

  @Get()
  @Bounded('accounts')
  @ApiOperation({
    summary: 'List the results that could not be matched to an exam',
    description:
      'Unmatched results are kept for 30 days and listed newest first. The list has no photos and video links. Read a single result with the scope `results` to see them.',
  })
  @AnswerList(UnmatchedResultModel)
  @Problems(400)
  async list(@Query() query: PageQuery, @Res() response: Response): Promise<void> {
    const page = pageOf(query);
    const { store } = this;
    await sendArray(response, async () => {
      const rows = sendPage(await store.list(page), page, response);
      return (async function* () {
        for (const row of rows) {
          const found = await store.findBody(row.id);
          if (found !== null) yield unmatchedText(row, found.body);
        }
      })();
    });
  }

  @Get(':id')
  @ApiOperation({
    summary: 'Read a result that could not be matched to an exam',
    description:
      'Callers with the scope `results` see the photo, the video link and the credentials, and also the body of an accepted result that is not RELEASED. The audit log records that photo and video link were read.',
  })
  @Answer(200, UnmatchedResultDetailModel, 'The result.')
  @Problems(400, 404)
  async get(
    @Param() { id }: UnmatchedPath,
    @Query() { media }: MediaQuery,
    @CurrentCaller() { scopes }: Caller,
    @Res() response: Response,
  ): Promise<void> {
    const known = await this.store.find(id);
    if (!known) throw unmatchedResultNotFound.error();
    // An operator of all accounts may have accepted the result for an exam in an account to which this caller has no
    // access.
    const found = (await this.revisions.mayKnow(known.svc_eligiblity_id))
      ? known
      : { ...known, svc_eligiblity_id: null, accept_reason: null };
    const isDriver = scopes.has('results');
    const shown = media === 'false' || !isDriver ? withoutMedia(found) : found;
    const isShown = await this.revisions.mayShow(known.svc_eligiblity_id, isDriver);
    const result = isShown ? shown : { ...shown, body: null };
    await this.reads.record('unmatched-result', [
      {
        subject: id,
        accountCode: result.account_code,
        photo: !!result.body?.photo,
        videoLink: !!result.body?.videoLink,
      },
    ]);
    response.type('application/json').send(unmatchedDetailText(result));
  }

  @Get(':id/raw')
  @ApiOperation({
    summary: 'Read the bytes of a refused body that is not a JSON object',
    description:
      'The bytes are returned as they arrived, to callers with the scope `results`; others receive 403. If the body is a JSON object, the answer is 404, and `GET /admin/unmatched-results/{id}` returns the body. The audit log records the request.',
  })
  @ApiProduces('application/octet-stream')
  @ApiOkResponse({
    description: 'The bytes.',
    schema: { type: 'string', format: 'binary', maxLength: MOST_BODY_BYTES },
  })
  @Problems(400, 404)
  async raw(
    @Param() { id }: UnmatchedPath,
    @CurrentCaller() { scopes }: Caller,
    @Res() response: Response,
  ): Promise<void> {
    // The `results` scope is required, because the raw bytes may contain the photo and credentials. The scope is
    // checked first, so that the response does not reveal whether the id exists.
    if (!scopes.has('results')) throw lacking('results');
    const found = await this.store.findRaw(id);
    if (!found) throw unmatchedResultNotFound.error();
    if (!found.bytes) throw unmatchedResultNotFound.error({ detail: NO_BYTES });
    await this.reads.recordRaw(id, found.accountCode);
    response.type('application/octet-stream').send(found.bytes);
  }

  @Get(':id/candidates')
  @ApiOperation({
    summary: 'List the exams to which an unmatched result may belong',
    description:
      'The list has at most ten exams, the most likely first. They are found by codes, record locator, candidate_id, e-mail address, names and test.',
  })
  @AnswerList(LikelyExamModel, 'The exams, the most likely first.')
  @Problems(400, 404)
  async candidates(@Param() { id }: UnmatchedPath): Promise<LikelyExamModel[]> {
    const result = await this.store.find(id);
    if (!result) throw unmatchedResultNotFound.error();
    return result.body === null ? [] : this.likely.of(result, result.body.text.toString('utf8'));
  }

  @Get(':id/exam')
  @ApiOperation({
    summary: 'Find the exam of a code before an unmatched result is accepted for it',
    description:
      'The code is an svc_eligiblity_id, a booking_code or a client_eligibility_id in one of the caller’s accounts.',
  })
  @Answer(200, OperatorEligibilityModel, 'The record of the exam.')
  @Problems(400, 404)
  async exam(@Param() { id }: UnmatchedPath, @Query() { code }: ExamQuery): Promise<OperatorEligibilityModel> {
    const result = await this.store.find(id);
    if (!result) throw unmatchedResultNotFound.error();
    return this.examOfCode.find(result, code);
  }

  @Post(':id/reject')
  @ApiOperation({
    summary: 'Reject an unmatched result',
    description:
      'The result leaves the list, but is kept with the reason until 30 days after its receipt. It can still be accepted during that time.',
  })
  @AnswerEmpty(204, 'Rejected.')
  @BodyProblems(404, 409)
  async reject(@Param() { id }: UnmatchedPath, @Body() { reason }: RejectRequest): Promise<void> {
    await this.commandBus.execute(new RejectUnmatchedResult(id, reason));
  }

  @Post(':id/accept')
  @ApiOperation({
    summary: 'Accept a result for an exam',
    description:
      'The result is stored as if the test driver had delivered it for this exam. Name the exam by booking_code or svc_eligiblity_id.',
  })
  @AnswerEmpty(204, 'Accepted.')
  @BodyProblems(404, 409)
  async accept(@Param() { id }: UnmatchedPath, @Body() body: AcceptRequest): Promise<void> {
    await this.commandBus.execute(new AcceptUnmatchedResult(id, examOf(body), body.reason ?? null));
  }
}

function withoutMedia(result: ReadUnmatched): ReadUnmatched {
  return { ...result, body: result.body && { ...result.body, photo: null, videoLink: null, credentials: null } };
}

/**
 * Returns the exam for which the operator's request accepts a result.
 * @throws DomainError validation_error unless exactly one of the two members is given
 */
function examOf({ booking_code, svc_eligiblity_id }: AcceptRequest): AcceptUnmatchedResult['exam'] {
  if (booking_code != null && svc_eligiblity_id == null) return { bookingCode: booking_code };
  if (booking_code == null && svc_eligiblity_id != null) return { svcEligibilityId: svc_eligiblity_id };
  throw validationError.error({
    errors: [{ pointer: '', code: 'one_required', detail: 'Give either booking_code or svc_eligiblity_id.' }],
  });
}
