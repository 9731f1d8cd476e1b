import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Caller } from '../platform/context/caller.js';
import { Access, Bounded, CurrentCaller } from '../platform/http/access.js';
import { Problems } from '../platform/http/documented.js';
import { EventStreams, TOPICS } from './event-streams.js';

@ApiTags('Administration')
@Controller('admin/events')
@Access('admin', 'support')
@Bounded('accounts')
export class EventsController {
  constructor(private readonly streams: EventStreams) {}

  @Get()
  @ApiOperation({
    summary: 'Stream changes as they happen, by server-sent events',
    description:
      `The event \`changed\` with \`{"topics": [...]}\` names the lists that have changed: ${TOPICS.join(', ')}. It contains no data, so request these lists again. A ` +
      'comment is sent at least every 6 seconds. The event `end` is sent when the session or the token has ended. A user can have at most ten streams.',
  })
  @ApiResponse({
    status: 200,
    description: 'A stream of events that stays open.',
    content: { 'text/event-stream': { schema: { type: 'string' } } },
  })
  @Problems()
  open(@Req() request: Request, @Res() response: Response, @CurrentCaller() caller: Caller): Promise<void> {
    return this.streams.open(request, response, caller);
  }
}
