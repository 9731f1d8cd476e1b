import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Clock, formatDateTime, parseDateTime } from '../platform/clock.js';
import { validationError } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';
import { Answer, AnswerList, BodyProblems, Problems } from '../platform/http/documented.js';
import { ReceivedRequests } from './received-requests.js';
import { SandboxClock } from './sandbox-clock.js';
import { SandboxEvents } from './sandbox-events.js';
import { ClockModel, ClockMove, EventRequest, ReceivedModel, ReceivedQuery } from './sandbox.dto.js';
import { clockMoveUnclear } from './sandbox.errors.js';

@ApiTags('Sandbox')
@Access('admin')
@Controller('sandbox')
export class SandboxController {
  constructor(
    private readonly clock: Clock,
    private readonly sandboxClock: SandboxClock,
    private readonly events: SandboxEvents,
    private readonly received: ReceivedRequests,
  ) {}

  @Get('clock')
  @ApiOperation({ summary: 'What time it is in the sandbox' })
  @Answer(200, ClockModel, 'The time by which every rule goes.')
  @Problems()
  time(): ClockModel {
    return { now: formatDateTime(this.clock.now()) };
  }

  @Post('clock')
  @ApiOperation({
    summary: 'Move the clock forward',
    description:
      'By seconds or to a moment. Windows, expiry, tokens, lock-outs, launch links, retries and retention go by it at once, in every process, and after a restart. It never goes back.',
  })
  @Answer(200, ClockModel, 'The new time.')
  @BodyProblems()
  async move(@Body() { advance_s, now }: ClockMove): Promise<ClockModel> {
    if ((advance_s ?? null) === null) {
      if ((now ?? null) === null) throw validationError.error({ errors: [clockMoveUnclear] });
      return { now: formatDateTime(await this.sandboxClock.move({ to: parseDateTime(now!)! })) };
    }
    if ((now ?? null) !== null) throw validationError.error({ errors: [clockMoveUnclear] });
    return { now: formatDateTime(await this.sandboxClock.move({ advanceS: advance_s! })) };
  }

  @Post('events')
  @ApiOperation({
    summary: 'Make an event for a booking',
    description:
      'Changes the booking so that the event occurs: moves it by an hour (or by a minute if a move by an hour is not possible), cancels it, records an absence, or delivers a result, which completes the exam.',
  })
  @Answer(202, EventRequest, 'Done; partners are being told.')
  @BodyProblems(404, 409)
  async raise(@Body() { booking_code, change_reason }: EventRequest): Promise<EventRequest> {
    await this.events.raise(booking_code, change_reason);
    return { booking_code, change_reason };
  }

  @Get('received')
  @ApiOperation({ summary: 'What the sandbox’s own partner has received' })
  @AnswerList(ReceivedModel, 'The last 100 requests, newest first.', 100)
  @Problems(400)
  async receivedRequests(@Query() { booking_code }: ReceivedQuery): Promise<ReceivedModel[]> {
    const requests = await this.received.list(booking_code ?? null);
    return requests.map(({ received_datetime, method, path, headers, body }) => ({
      received_datetime: formatDateTime(received_datetime),
      method,
      path,
      headers,
      body,
    }));
  }
}
