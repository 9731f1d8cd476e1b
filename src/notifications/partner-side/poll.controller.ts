import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Caller } from '../../platform/context/caller.js';
import { Access, CurrentCaller } from '../../platform/http/access.js';
import { Answer, BodyProblems } from '../../platform/http/documented.js';
import { PollAnswer, PollBody } from './poll.dto.js';
import { Polls } from './poll.js';

@ApiTags('Partner')
@Access('partner')
@Controller('partner/notifications')
export class PollController {
  constructor(private readonly polls: Polls) {}

  @Post('poll')
  @HttpCode(200)
  @ApiOperation({ summary: 'Poll notifications, and acknowledge or refuse earlier ones' })
  @ApiBody({ type: PollBody, required: false })
  @Answer(200, PollAnswer)
  @BodyProblems(404)
  poll(
    @Body() body: PollBody,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PollAnswer> {
    return this.polls.answer(body, caller, response);
  }
}
