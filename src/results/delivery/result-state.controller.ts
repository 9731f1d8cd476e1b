import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Access, Bounded } from '../../platform/http/access.js';
import { AnswerEmpty, BodyProblems } from '../../platform/http/documented.js';
import { Field } from '../../platform/validation/fields.js';
import { text } from '../../platform/validation/rules.js';
import { DecideOnResult } from '../results.commands.js';

class ExamPath {
  @Field(text({ min: 1, max: 50 }), { required: true })
  svc_id: string;
}

class ReasonRequest {
  @Field(text({ min: 1, max: 1000, notBlank: true, lines: true }), {
    required: true,
    description: 'The reason, which clients read as `state_reason`.',
  })
  reason: string;
}

/** Serves operators' decisions on the result of an exam. */
@ApiTags('Administration')
@Controller('admin/eligibilities/:svc_id/result')
@Access('admin', 'support')
@Bounded('row')
export class ResultStateController {
  constructor(private readonly commandBus: CommandBus) {}

  @Post('hold')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Hold the result of an exam',
    description:
      'Until the result is released, callers without the scope `results` see its revisions without their bodies.',
  })
  @AnswerEmpty(204, 'Held.')
  @BodyProblems(404)
  hold(@Param() { svc_id }: ExamPath, @Body() { reason }: ReasonRequest): Promise<void> {
    return this.commandBus.execute(new DecideOnResult(svc_id, 'HELD', reason));
  }

  @Post('release')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Release a result that is held or revoked',
    description: 'All callers who may read the results of the account see the bodies again.',
  })
  @AnswerEmpty(204, 'Released.')
  @BodyProblems(404)
  release(@Param() { svc_id }: ExamPath, @Body() { reason }: ReasonRequest): Promise<void> {
    return this.commandBus.execute(new DecideOnResult(svc_id, 'RELEASED', reason));
  }

  @Post('revoke')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Revoke the result of an exam',
    description:
      'The record stays COMPLETED. Callers without the scope `results` see the revisions without their bodies.',
  })
  @AnswerEmpty(204, 'Revoked.')
  @BodyProblems(404)
  revoke(@Param() { svc_id }: ExamPath, @Body() { reason }: ReasonRequest): Promise<void> {
    return this.commandBus.execute(new DecideOnResult(svc_id, 'REVOKED', reason));
  }
}
