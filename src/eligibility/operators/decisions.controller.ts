import { Body, Controller, Param, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Access, Bounded } from '../../platform/http/access.js';
import { AnswerEmpty, BodyProblems } from '../../platform/http/documented.js';
import { Field } from '../../platform/validation/fields.js';
import { text } from '../../platform/validation/rules.js';
import { ApproveAccommodations, DeclineAccommodations, HoldEligibility, ReleaseHold } from '../eligibility.commands.js';
import { HoldRequest } from '../eligibility-model.fields.js';

class EligibilityIdPath {
  @Field(text({ min: 1, max: 50 }), { required: true })
  svc_id: string;
}

@ApiTags('Administration')
@Controller('admin/eligibilities/:svc_id')
@Access('admin', 'support')
@Bounded('row')
export class EligibilityAdminController {
  constructor(private readonly commandBus: CommandBus) {}

  @Post('hold')
  @ApiOperation({ summary: 'Put an eligibility on hold' })
  @AnswerEmpty(204, 'The record is on hold.')
  @BodyProblems(404)
  async hold(@Param() { svc_id }: EligibilityIdPath, @Body() { reason }: HoldRequest): Promise<void> {
    await this.commandBus.execute(new HoldEligibility(svc_id, reason));
  }

  @Post('release')
  @ApiOperation({ summary: 'Release the hold of an eligibility' })
  @AnswerEmpty(204, 'The hold was released.')
  @BodyProblems(404)
  async release(@Param() { svc_id }: EligibilityIdPath): Promise<void> {
    await this.commandBus.execute(new ReleaseHold(svc_id));
  }

  @Post('approve-accommodations')
  @ApiOperation({ summary: 'Approve the special accommodations of an eligibility' })
  @AnswerEmpty(204, 'The accommodations were approved.')
  @BodyProblems(404)
  async approve(@Param() { svc_id }: EligibilityIdPath): Promise<void> {
    await this.commandBus.execute(new ApproveAccommodations(svc_id));
  }

  @Post('decline-accommodations')
  @ApiOperation({
    summary: 'Decline the special accommodations of an eligibility',
    description:
      'The record stays PENDING, and `eligibility_status_message` states the reason. The accommodations can be approved later.',
  })
  @AnswerEmpty(204, 'The accommodations were declined.')
  @BodyProblems(404)
  async decline(@Param() { svc_id }: EligibilityIdPath, @Body() { reason }: HoldRequest): Promise<void> {
    await this.commandBus.execute(new DeclineAccommodations(svc_id, reason));
  }
}
