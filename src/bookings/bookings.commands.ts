import { Command } from '@nestjs/cqrs';
import type { Booking } from './booking.entity.js';
import type { Appointment } from './bookings.rules.js';

export class BookExam extends Command<Booking> {
  constructor(
    readonly accountCode: string,
    readonly candidateId: string,
    readonly testCode: string,
    readonly appointment: Appointment,
    readonly allowOverlap: boolean,
  ) {
    super();
  }
}

export class RescheduleBooking extends Command<Booking> {
  constructor(
    readonly accountCode: string,
    readonly bookingCode: string,
    readonly appointment: Appointment,
    readonly allowOverlap: boolean,
  ) {
    super();
  }
}

export class CancelBooking extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly bookingCode: string,
  ) {
    super();
  }
}

export class RecordAbsence extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly bookingCode: string,
    readonly excused: boolean,
  ) {
    super();
  }
}

/**
 * Completes the exam of an eligibility after an accepted result. The eligibility and its booking become COMPLETED, and
 * the EXAM_COMPLETED event is raised. If the exam has no booking, a booking is added at the time of the exam's launch
 * or, if the exam was never launched, at the current time. Later results for the same exam change nothing.
 *
 * The command runs in the current transaction, and the records stay locked. Returns whether this result completed the
 * exam. If so, the change feed reports the result.
 */
export class CompleteExam extends Command<boolean> {
  constructor(
    readonly svcEligibilityId: string,
    /** The revision number of the result that completes the exam. */
    readonly revision: number,
  ) {
    super();
  }
}
