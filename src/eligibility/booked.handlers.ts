import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Clock } from '../platform/clock.js';
import { ACROSS_ACCOUNTS } from '../platform/context/caller.js';
import { forbiddenOperation } from '../platform/errors.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import {
  type BookedEligibility,
  CompleteEligibility,
  FollowBooking,
  ScheduleEligibility,
} from './eligibility.commands.js';
import type { Eligibility } from './eligibility.entity.js';
import { bookingOverlaps, eligibilityNotFound, notEligibleToSchedule } from './eligibility.errors.js';
import { isWindowOver, statusAt } from './eligibility.fields.js';
import {
  isEligibleToSchedule,
  isInWindow,
  mayTrigger,
  openStatus,
  overlappingBooking,
  statusMessage,
  type TimeSlot,
} from './eligibility.rules.js';
import { EligibilityStore } from './eligibility-store.js';
import { assertRetakeAllowed } from './retake.rules.js';

const NO_BOOKING = { booking_code: null, booking_on: null } as const;

@CommandHandler(ScheduleEligibility)
export class ScheduleEligibilityHandler implements ICommandHandler<ScheduleEligibility> {
  constructor(
    private readonly store: EligibilityStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  execute({
    accountCode,
    candidateId,
    testCode,
    bookingCode,
    bookingOn,
    allowOverlap,
  }: ScheduleEligibility): Promise<BookedEligibility> {
    return this.unitOfWork.runWithOthers(`${accountCode} ${candidateId}`, async () => {
      const { records, others } = await this.store.lockOfCandidate(accountCode, candidateId, testCode);
      const record = records.live ?? records.newest;
      if (!record) throw eligibilityNotFound.error();
      const now = this.clock.now();
      if (!isEligibleToSchedule(record, now))
        throw notEligibleToSchedule.error({
          detail: `${statusMessage(record, now)}.`,
          members: openBookingOf(record),
        });
      assertHolds(record, bookingOn);
      if (record.retake !== null) assertRetakeAllowed(record.retake, records.newestFirst, bookingOn);
      if (!allowOverlap) assertFree(record, bookingOn, others);
      return this.store.followBooking(
        record,
        { status: 'SCHEDULED', booking_code: bookingCode, booking_on: bookingOn },
        now,
      );
    });
  }
}

@CommandHandler(FollowBooking)
export class FollowBookingHandler implements ICommandHandler<FollowBooking> {
  constructor(
    private readonly store: EligibilityStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  execute({ svcEligibilityId, outcome }: FollowBooking): Promise<BookedEligibility> {
    return this.unitOfWork.run(async () => {
      const record = await this.store.lockById(svcEligibilityId, ACROSS_ACCOUNTS);
      const now = this.clock.now();
      switch (outcome.kind) {
        case 'moved':
          assertHolds(record, outcome.bookingOn);
          if (record.retake !== null)
            assertRetakeAllowed(record.retake, await this.store.attemptsOf(record), outcome.bookingOn);
          if (!outcome.allowOverlap) assertFree(record, outcome.bookingOn, await this.store.otherBookings(record));
          return this.store.followBooking(record, { booking_on: outcome.bookingOn }, now);
        case 'excused absence':
        case 'cancelled':
          return this.reopen(record, now);
        case 'absence':
          return this.store.followBooking(record, { ...NO_BOOKING, status: 'ABSENT' }, now);
      }
    });
  }

  /**
   * Updates the record after its booking was cancelled or its absence was excused.
   * @throws DomainError forbidden_operation if the record is ABSENT and the candidate already has a newer, active
   * eligibility for the test
   */
  private async reopen(record: BookedEligibility, now: Date): Promise<BookedEligibility> {
    const status = isWindowOver(record, now) ? 'EXPIRED' : openStatus(record);
    if (record.status === 'ABSENT') {
      if (await this.store.hasLive(record))
        throw forbiddenOperation.error({ detail: 'The candidate has a newer eligibility for this test.' });
      await this.store.change(record, { status }, now);
    }
    return this.store.followBooking(record, { ...NO_BOOKING, status }, now);
  }
}

@CommandHandler(CompleteEligibility)
export class CompleteEligibilityHandler implements ICommandHandler<CompleteEligibility> {
  constructor(
    private readonly store: EligibilityStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  execute({ svcEligibilityId }: CompleteEligibility): Promise<BookedEligibility | null> {
    return this.unitOfWork.run(async () => {
      const record = await this.store.lockById(svcEligibilityId, ACROSS_ACCOUNTS);
      if (record.status === 'COMPLETED') return null;
      const now = this.clock.now();
      if (!mayTrigger(statusAt(record, now), 'result')) throw eligibilityNotFound.error();
      return this.store.followBooking(record, { ...NO_BOOKING, status: 'COMPLETED' }, now);
    });
  }
}

function assertHolds(record: Eligibility, bookingOn: Date): void {
  if (!isInWindow(record, bookingOn))
    throw notEligibleToSchedule.error({
      detail: 'booking_on lies outside of the scheduling window.',
      members: openBookingOf(record),
    });
}

/** Refuses a time that overlaps another booking of the candidate. @throws DomainError booking_overlaps */
function assertFree({ duration_minutes }: BookedEligibility, booking_on: Date, others: readonly TimeSlot[]): void {
  const booking_code = overlappingBooking({ booking_on, duration_minutes }, others);
  if (booking_code !== null) throw bookingOverlaps.error({ members: { booking_code } });
}

function openBookingOf({ booking_code }: Eligibility): { booking_code?: string } {
  return booking_code === null ? {} : { booking_code };
}
