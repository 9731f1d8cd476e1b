import { Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { CancelBooking, RecordAbsence, RescheduleBooking } from '../bookings/bookings.commands.js';
import { bookingClosed, bookingNotFound } from '../bookings/bookings.errors.js';
import type { ChangeReason } from '../bookings/bookings.events.js';
import { formatDateTime } from '../platform/clock.js';
import { requestContext } from '../platform/context/request-context.js';
import { acrossAccounts, Database, prepared } from '../platform/database/database.js';
import { DomainError } from '../platform/errors.js';
import { DeliverRegistrationResult } from '../results/results.commands.js';
import { eventNotPossible } from './sandbox.errors.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const FIND = prepared(
  'sandbox-find-booking',
  `SELECT account_code, status, booking_on, delivery_mode, location_code, location_name, location_address,
     location_timezone
   FROM bookings WHERE booking_code = $1`,
  acrossAccounts.checkedByCaller,
);

type Found = RescheduleBooking['appointment'] & { account_code: string; status: string };

/**
 * Raises an event of a booking by changing the booking. The booking is changed by the same commands as in ordinary
 * requests, so the effects are the same.
 */
@Injectable()
export class SandboxEvents {
  constructor(
    private readonly database: Database,
    private readonly commandBus: CommandBus,
  ) {}

  /**
   * Changes the booking so that the event `reason` is raised.
   * @throws DomainError booking_not_found, event_not_possible
   */
  async raise(bookingCode: string, reason: ChangeReason): Promise<void> {
    const booking = await this.database.queryOne<Found>(FIND, [bookingCode]);
    if (booking === null) throw bookingNotFound.error();
    const { account_code: account, status } = booking;
    try {
      switch (reason) {
        case 'BOOKING_CREATED':
          throw eventNotPossible.error({ detail: 'A booking can be created only once. Create another booking.' });
        case 'BOOKING_RESCHEDULED':
          return await this.move(account, bookingCode, booking);
        case 'BOOKING_CANCELLED':
          return await this.commandBus.execute(new CancelBooking(account, bookingCode));
        case 'ABSENT':
        case 'EXCUSED_ABSENT':
          return await this.commandBus.execute(new RecordAbsence(account, bookingCode, reason === 'EXCUSED_ABSENT'));
        case 'EXAM_COMPLETED':
          // A booking that the candidate missed (ABSENT) is included, because a result completes that exam as well.
          if (status !== 'BOOKED' && status !== 'ABSENT') throw bookingClosed.error();
          return await this.deliverResult(account, bookingCode, booking);
      }
    } catch (error) {
      throw error instanceof DomainError && error.problem === bookingClosed ? eventNotPossible.error() : error;
    }
  }

  /** Moves the booking by an hour, or by a minute if the service refuses to move it by an hour. */
  private async move(account: string, bookingCode: string, booking: Found): Promise<void> {
    const { booking_on, delivery_mode, location_code, location_name, location_address, location_timezone } = booking;
    const location = { location_code, location_name, location_address, location_timezone };
    const to = (time: Date) =>
      this.commandBus.execute(
        new RescheduleBooking(account, bookingCode, { booking_on: time, delivery_mode, ...location }, true),
      );
    for (const by of [HOUR_MS, -HOUR_MS, MINUTE_MS, -MINUTE_MS]) {
      try {
        return void (await to(new Date(booking_on.getTime() + by)));
      } catch (error) {
        if (!(error instanceof DomainError) || error.problem === bookingClosed) throw error;
      }
    }
    throw eventNotPossible.error();
  }

  /** Delivers an exam result in the same way as a test driver, on the route for registration results. */
  private async deliverResult(account: string, bookingCode: string, { booking_on }: Found): Promise<void> {
    const result = {
      examDate: formatDateTime(booking_on),
      examProcessingStatus: 'Completed',
      examMetaData: { examCode: bookingCode, simulatedExam: false },
      overAllComments: 'Made by the sandbox.',
    };
    const delivered = { bytes: Buffer.from(JSON.stringify(result)), username: requestContext().caller!.username };
    await this.commandBus.execute(new DeliverRegistrationResult(delivered, [account]));
  }
}
