import { CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import {
  CompleteEligibility,
  FollowBooking,
  ScheduleEligibility,
  type BookedEligibility,
} from '../eligibility/eligibility.commands.js';
import { FindLaunchTime } from '../launch/launch.queries.js';
import { Clock } from '../platform/clock.js';
import { requestContext } from '../platform/context/request-context.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Secrets } from '../platform/secrets.js';
import { BookingStore } from './booking-store.js';
import type { Booking } from './booking.entity.js';
import { BookExam, CancelBooking, CompleteExam, RecordAbsence, RescheduleBooking } from './bookings.commands.js';
import {
  Absent,
  BookingCancelled,
  BookingCreated,
  BookingRescheduled,
  ExamCompleted,
  ExcusedAbsent,
} from './bookings.events.js';
import { changeCutoffPassed } from './bookings.errors.js';
import { isCutoffPassed, isSameAppointment, type Location } from './bookings.rules.js';

const CODE_LENGTH = 10;

@CommandHandler(BookExam)
export class BookExamHandler implements ICommandHandler<BookExam> {
  constructor(
    private readonly secrets: Secrets,
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
    private readonly store: BookingStore,
  ) {}

  execute({ accountCode, candidateId, testCode, appointment, allowOverlap }: BookExam): Promise<Booking> {
    return this.unitOfWork.runWithOthers(`${accountCode} ${candidateId}`, async () => {
      const bookingCode = this.secrets.code(CODE_LENGTH);
      const eligibility = await this.commandBus.execute(
        new ScheduleEligibility(accountCode, candidateId, testCode, bookingCode, appointment.booking_on, allowOverlap),
      );
      const booking = this.store.add(BookingCreated, eligibility, { bookingCode, appointment, status: 'BOOKED' });
      this.unitOfWork.audit('booking.create', bookingCode);
      return booking;
    });
  }
}

@CommandHandler(RescheduleBooking)
export class RescheduleBookingHandler implements ICommandHandler<RescheduleBooking> {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
    private readonly store: BookingStore,
    private readonly clock: Clock,
  ) {}

  execute({ accountCode, bookingCode, appointment, allowOverlap }: RescheduleBooking): Promise<Booking> {
    return this.unitOfWork.run(async () => {
      const booking = await this.store.lockToMove(accountCode, bookingCode);
      if (isSameAppointment(booking, appointment)) return booking;
      const eligibility = await this.commandBus.execute(
        new FollowBooking(booking.svc_eligiblity_id, {
          kind: 'moved',
          bookingOn: appointment.booking_on,
          allowOverlap,
        }),
      );
      assertMayStillChange(booking, eligibility, this.clock.now());
      Object.assign(booking, appointment);
      this.store.save(BookingRescheduled, booking, eligibility);
      this.unitOfWork.audit('booking.reschedule', bookingCode);
      return booking;
    });
  }
}

@CommandHandler(CancelBooking)
export class CancelBookingHandler implements ICommandHandler<CancelBooking> {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
    private readonly store: BookingStore,
    private readonly clock: Clock,
  ) {}

  async execute({ accountCode, bookingCode }: CancelBooking): Promise<void> {
    await this.unitOfWork.run(async () => {
      const booking = await this.store.lockOpen(accountCode, bookingCode);
      const eligibility = await this.commandBus.execute(
        new FollowBooking(booking.svc_eligiblity_id, { kind: 'cancelled' }),
      );
      assertMayStillChange(booking, eligibility, this.clock.now());
      booking.status = 'CANCELLED';
      this.store.save(BookingCancelled, booking, eligibility);
      this.unitOfWork.audit('booking.cancel', bookingCode);
    });
  }
}

@CommandHandler(RecordAbsence)
export class RecordAbsenceHandler implements ICommandHandler<RecordAbsence> {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
    private readonly store: BookingStore,
  ) {}

  async execute({ accountCode, bookingCode, excused }: RecordAbsence): Promise<void> {
    await this.unitOfWork.run(async () => {
      const booking = excused
        ? await this.store.lockToExcuse(accountCode, bookingCode)
        : await this.store.lockOpen(accountCode, bookingCode);
      const eligibility = await this.commandBus.execute(
        new FollowBooking(booking.svc_eligiblity_id, { kind: excused ? 'excused absence' : 'absence' }),
      );
      booking.status = excused ? 'EXCUSED_ABSENT' : 'ABSENT';
      this.store.save(excused ? ExcusedAbsent : Absent, booking, eligibility);
      this.unitOfWork.audit(excused ? 'booking.excused-absence' : 'booking.absence', bookingCode);
    });
  }
}

@CommandHandler(CompleteExam)
export class CompleteExamHandler implements ICommandHandler<CompleteExam> {
  constructor(
    private readonly secrets: Secrets,
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
    private readonly queryBus: QueryBus,
    private readonly store: BookingStore,
    private readonly clock: Clock,
  ) {}

  execute({ svcEligibilityId, revision }: CompleteExam): Promise<boolean> {
    return this.unitOfWork.run(async () => {
      const eligibility = await this.commandBus.execute(new CompleteEligibility(svcEligibilityId));
      if (eligibility === null) return false;
      const booking = await this.store.lockLastKept(svcEligibilityId);
      if (booking) {
        booking.status = 'COMPLETED';
        this.store.save(ExamCompleted, booking, eligibility, { revision });
      } else await this.addCompleted(eligibility, revision);
      this.unitOfWork.audit('exam.complete', svcEligibilityId, { accountCode: eligibility.account_code });
      return true;
    });
  }

  /**
   * Adds a completed booking for an exam that was never booked. The booking begins at the launch of the exam or,
   * without a launch, at the current time.
   */
  private async addCompleted(eligibility: BookedEligibility, revision: number): Promise<void> {
    const launchedAt = await this.queryBus.execute(new FindLaunchTime(eligibility.svc_eligiblity_id));
    const appointment = { booking_on: launchedAt ?? this.clock.now(), delivery_mode: null, ...NOWHERE };
    const bookingCode = this.secrets.code(CODE_LENGTH);
    this.store.add(ExamCompleted, eligibility, { bookingCode, appointment, status: 'COMPLETED' }, { revision });
  }
}

/**
 * Refuses a client's change to a booking if the test's deadline for changes (`change_cutoff_hours`) has passed.
 * Operators are exempt.
 * @throws DomainError change_cutoff_passed
 */
function assertMayStillChange(booking: Booking, { change_cutoff_hours }: BookedEligibility, now: Date): void {
  const scopes = requestContext().caller?.scopes;
  const isClient = !scopes?.has('admin') && !scopes?.has('support');
  if (isClient && isCutoffPassed(booking, change_cutoff_hours, now)) throw changeCutoffPassed.error();
}

const NOWHERE: Location = {
  location_code: null,
  location_name: null,
  location_address: null,
  location_timezone: null,
};
