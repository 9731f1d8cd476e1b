import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { CandidatePath, CandidateTestPath } from '../eligibility/eligibility.fields.js';
import { FindEligibilities } from '../eligibility/eligibility.queries.js';
import { formatDateTime, parseDateTime } from '../platform/clock.js';
import { Access } from '../platform/http/access.js';
import { Answer, AnswerEmpty, AnswerList, BodyProblems, Problems } from '../platform/http/documented.js';
import { ChecksMore, RequestFaults } from '../platform/http/request-form.js';
import { Idempotent, IdempotentWithOthers } from '../platform/unit-of-work/idempotency.js';
import { Faults } from '../platform/validation/faults.js';
import { BookingStore } from './booking-store.js';
import type { Booking } from './booking.entity.js';
import { BookExam, CancelBooking, RecordAbsence, RescheduleBooking } from './bookings.commands.js';
import { locationFaults, type Appointment } from './bookings.rules.js';
import { AbsenceRequest, BookingModel, BookingPath, BookingRequest, BookingsQuery } from './bookings.dto.js';

@ApiTags('Bookings')
@Controller('accounts/:account_code')
@Access('bookings')
export class BookingsController {
  constructor(
    private readonly commandBus: CommandBus,
    private readonly queryBus: QueryBus,
    private readonly store: BookingStore,
  ) {}

  @Post('candidates/:candidate_id/tests/:test_code/bookings')
  @IdempotentWithOthers()
  @ApiOperation({ summary: 'Book the exam of an eligibility' })
  @ChecksMore()
  @Answer(201, BookingModel, 'The booking was created.')
  @BodyProblems(404)
  async book(
    @Param() path: CandidateTestPath,
    @Body() body: BookingRequest,
    @RequestFaults() faults: Faults,
  ): Promise<BookingModel> {
    const appointment = appointmentOf(body, faults);
    const overlaps = body.allow_overlap === true;
    return present(
      await this.commandBus.execute(
        new BookExam(path.account_code, path.candidate_id, path.test_code, appointment, overlaps),
      ),
    );
  }

  @Get('candidates/:candidate_id/bookings')
  @ApiOperation({ summary: 'List the bookings of a candidate' })
  @AnswerList(BookingModel, 'All bookings of the candidate, newest first.', null)
  @Problems(400, 404)
  async ofCandidate(@Param() path: CandidatePath, @Query() query: BookingsQuery): Promise<BookingModel[]> {
    const { account_code, candidate_id } = path;
    const bookings = await this.store.ofCandidate(account_code, candidate_id, {
      ...query,
      status: query.status?.toUpperCase(),
    });
    // A candidate who has no bookings must have an eligibility in the account. Otherwise, the response is 404
    // candidate_not_found.
    if (bookings.length === 0) await this.queryBus.execute(new FindEligibilities(account_code, candidate_id));
    return bookings.map(present);
  }

  @Get('bookings/:booking_code')
  @ApiOperation({ summary: 'Read a booking' })
  @Answer(200, BookingModel, 'The booking.')
  @Problems(400, 404)
  async get(@Param() path: BookingPath): Promise<BookingModel> {
    return present(await this.store.get(path.account_code, path.booking_code));
  }

  @Put('bookings/:booking_code')
  @Idempotent()
  @ApiOperation({ summary: 'Move a booking' })
  @ChecksMore()
  @Answer(200, BookingModel, 'The booking was moved.')
  @BodyProblems(404)
  async reschedule(
    @Param() path: BookingPath,
    @Body() body: BookingRequest,
    @RequestFaults() faults: Faults,
  ): Promise<BookingModel> {
    const appointment = appointmentOf(body, faults);
    const overlaps = body.allow_overlap === true;
    return present(
      await this.commandBus.execute(new RescheduleBooking(path.account_code, path.booking_code, appointment, overlaps)),
    );
  }

  @Delete('bookings/:booking_code')
  @Idempotent()
  @ApiOperation({ summary: 'Cancel a booking' })
  @AnswerEmpty(204, 'Cancelled.')
  @Problems(400, 404)
  async cancel(@Param() path: BookingPath): Promise<void> {
    await this.commandBus.execute(new CancelBooking(path.account_code, path.booking_code));
  }

  @Post('bookings/:booking_code/absence')
  @Idempotent()
  @ApiOperation({ summary: 'Record that the candidate was absent, excused or not' })
  @AnswerEmpty(204, 'The absence was recorded.')
  @BodyProblems(404)
  async absence(@Param() path: BookingPath, @Body() { excused }: AbsenceRequest): Promise<void> {
    await this.commandBus.execute(new RecordAbsence(path.account_code, path.booking_code, excused));
  }
}

/**
 * Serves a candidate's bookings to operators. The responses are the same as the responses that clients get with the
 * `bookings` scope.
 */
@ApiTags('Administration')
@Controller('admin/accounts/:account_code/candidates/:candidate_id/bookings')
@Access('admin', 'support')
export class CandidateBookingsController {
  constructor(
    private readonly queryBus: QueryBus,
    private readonly store: BookingStore,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List the bookings of a candidate' })
  @AnswerList(BookingModel, 'All bookings of the candidate, newest first.', null)
  @Problems(400, 404)
  async list(@Param() { account_code, candidate_id }: CandidatePath): Promise<BookingModel[]> {
    // A candidate without any eligibility in the account is unknown; the response is 404 candidate_not_found.
    await this.queryBus.execute(new FindEligibilities(account_code, candidate_id));
    return (await this.store.ofCandidate(account_code, candidate_id, {})).map(present);
  }
}

/**
 * Returns the appointment in the body of a request.
 * @throws DomainError validation_error, which lists the members that violate their rules and, if the location does not
 * fit the delivery mode, the faults of the location
 */
function appointmentOf(body: BookingRequest, faults: Faults): Appointment {
  faults.add(...locationFaults(body, faults));
  faults.refuse();
  return {
    booking_on: parseDateTime(body.booking_on)!,
    delivery_mode: body.delivery_mode,
    location_code: body.location_code ?? null,
    location_name: body.location_name ?? null,
    location_address: body.location_address ?? null,
    location_timezone: body.location_timezone ?? null,
  };
}

function present(booking: Booking): BookingModel {
  return {
    booking_code: booking.booking_code,
    svc_eligiblity_id: booking.svc_eligiblity_id,
    candidate_id: booking.candidate_id,
    test_code: booking.test_code,
    status: booking.status,
    booking_on: formatDateTime(booking.booking_on),
    delivery_mode: booking.delivery_mode,
    location_code: booking.location_code,
    location_name: booking.location_name,
    location_address: booking.location_address,
    location_timezone: booking.location_timezone,
    created_datetime: formatDateTime(booking.created_datetime),
    updated_datetime: formatDateTime(booking.updated_datetime),
  };
}
