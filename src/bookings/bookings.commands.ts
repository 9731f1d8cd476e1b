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
 * A result was accepted for the exam of an eligibility: the eligibility and its booking turn COMPLETED, and
 * EXAM_COMPLETED is raised; later results of the same exam change nothing. An exam without a booking gets one at its
 * launch time, else now. In the caller's transaction; the records stay locked. Returns whether this result completed it: the
 * change feed has it then.
 */
export class CompleteExam extends Command<boolean> {
  constructor(
    readonly svcEligibilityId: string,
    /** Of the result. */
    readonly revision: number,
  ) {
    super();
  }
}
