import { Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import {
  LockEligibilitiesOfCandidate,
  LockEligibility,
  type BookedEligibility,
} from '../eligibility/eligibility.commands.js';
import { Clock } from '../platform/clock.js';
import { ACROSS_ACCOUNTS, type AllowedAccounts } from '../platform/context/caller.js';
import { acrossAccounts, Database, prepared } from '../platform/database/database.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { newEventId, type EventMeta } from '../platform/events/domain-event.js';
import { requestContext } from '../platform/context/request-context.js';
import { Booking } from './booking.entity.js';
import { bookingClosed, bookingNotFound } from './bookings.errors.js';
import { FEED_CHANGES, type BookingEvent, type ChangeReason, type NotificationRequest } from './bookings.events.js';
import type { Appointment, BookingStatus } from './bookings.rules.js';
import { notificationRequest } from './notification-request.js';

const FIND = prepared('booking-find', 'SELECT * FROM bookings WHERE booking_code = $1 AND account_code = $2');
// Finds the eligibility records that have a booking whose code begins with the given prefix. Each record is found only
// once, by its first matching code. The statement finds the first code by counting earlier matches. With NOT EXISTS,
// PostgreSQL would read all bookings if many codes match.
const ELIGIBILITIES_OF = prepared(
  'booking-eligibilities-of',
  `SELECT svc_eligiblity_id FROM bookings found
   WHERE booking_code BETWEEN upper($1::text) AND upper($1::text) || 'ZZZZZZZZZZ'
     AND ($2::text[] IS NULL OR account_code = ANY ($2))
     AND (SELECT count(*) FROM bookings other WHERE other.svc_eligiblity_id = found.svc_eligiblity_id
          AND other.booking_code >= upper($1::text) AND other.booking_code < found.booking_code) = 0
   ORDER BY booking_code LIMIT $3`,
);
const FIND_OF_CANDIDATE = prepared(
  'bookings-of-candidate',
  `SELECT * FROM bookings WHERE account_code = $1 AND candidate_id = $2 AND ($3::text IS NULL OR status = $3)
     AND ($4::text IS NULL OR test_code = $4)
   ORDER BY created_datetime DESC, booking_code DESC`,
);
const LOCK = prepared(
  'booking-lock',
  'SELECT * FROM bookings WHERE booking_code = $1 AND account_code = $2 FOR UPDATE',
);
const LOCK_LAST_KEPT = prepared(
  'booking-lock-last-kept',
  `SELECT * FROM bookings WHERE svc_eligiblity_id = $1 AND status IN ('BOOKED', 'ABSENT')
   ORDER BY created_datetime DESC LIMIT 1 FOR UPDATE`,
  acrossAccounts.keyInHand,
);
/**
 * The columns of a booking. The value is true if a change may write the column, and false if the column never changes.
 * If a column is missing from this list, the code does not compile.
 */
const CHANGING = {
  status: true,
  booking_on: true,
  delivery_mode: true,
  location_code: true,
  location_name: true,
  location_address: true,
  location_timezone: true,
  event_sequence: true,
  updated_datetime: true,
} as const satisfies Partial<Record<keyof Booking, true>>;
const STAYING: Record<Exclude<keyof Booking, keyof typeof CHANGING>, true> = {
  booking_code: true,
  svc_eligiblity_id: true,
  account_code: true,
  candidate_id: true,
  test_code: true,
  created_datetime: true,
};
const CHANGING_COLUMNS = Object.keys(CHANGING) as (keyof typeof CHANGING)[];
const COLUMNS = [...Object.keys(STAYING), ...CHANGING_COLUMNS].join(', ');

const ADD = prepared(
  'booking-add',
  `INSERT INTO bookings (${COLUMNS}) SELECT ${COLUMNS} FROM json_populate_recordset(NULL::bookings, $1)`,
);
const SAVE = prepared(
  'booking-save',
  `UPDATE bookings SET ${CHANGING_COLUMNS.map((column, index) => `${column} = $${index + 2}`).join(', ')}
   WHERE booking_code = $1`,
  acrossAccounts.keyInHand,
);

interface BookingEventClass {
  new (data: NotificationRequest, meta: EventMeta): BookingEvent;
  readonly changeReason: ChangeReason;
}

/**
 * A booking before it is stored. The delivery mode is null if the exam was never booked and is known only from a
 * result.
 */
interface BookingDraft {
  bookingCode: string;
  appointment: Omit<Appointment, 'delivery_mode'> & Pick<Booking, 'delivery_mode'>;
  status: BookingStatus;
}

/**
 * The revision of the result that completed the exam, for the change feed; null if the booking changed in another way.
 */
type Completion = { revision: number } | null;

/**
 * Stores bookings. A change, its event and its change feed entry are written together. The sequence numbers of a
 * booking's events strictly increase. The times of all booking events of an eligibility record also strictly increase.
 */
@Injectable()
export class BookingStore {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly commandBus: CommandBus,
  ) {}

  /**
   * Returns the booking with the given code.
   * @throws DomainError booking_not_found
   */
  async get(accountCode: string, bookingCode: string): Promise<Booking> {
    const booking = await this.database.queryOne<Booking>(FIND, [bookingCode, accountCode]);
    if (!booking) throw bookingNotFound.error();
    return booking;
  }

  /**
   * Returns the eligibility records that have a booking whose code begins with the given prefix, in upper or lower
   * case. The records are sorted by booking code.
   * @param accountCodes limits the search to records of these accounts; null for all accounts
   * @param most the maximum number of records
   */
  async eligibilitiesOf(prefix: string, accountCodes: AllowedAccounts, most: number): Promise<string[]> {
    const values = [prefix, accountCodes, most];
    const rows = await this.database.query<{ svc_eligiblity_id: string }>(ELIGIBILITIES_OF, values);
    return rows.map((row) => row.svc_eligiblity_id);
  }

  /** Returns the candidate's bookings in an account, newest first. */
  ofCandidate(
    accountCode: string,
    candidateId: string,
    { status, test_code }: { status?: string; test_code?: string },
  ): Promise<Booking[]> {
    return this.database.query<Booking>(FIND_OF_CANDIDATE, [
      accountCode,
      candidateId,
      status ?? null,
      test_code ?? null,
    ]);
  }

  /**
   * Locks the eligibility of the booking, and then the booking itself. The booking must be open.
   * @throws DomainError booking_not_found, booking_closed
   */
  async lockOpen(accountCode: string, bookingCode: string): Promise<Booking> {
    const { svc_eligiblity_id } = await this.get(accountCode, bookingCode);
    await this.commandBus.execute(new LockEligibility(svc_eligiblity_id, ACROSS_ACCOUNTS));
    return this.lockHeld(accountCode, bookingCode, ['BOOKED']);
  }

  /**
   * Locks all eligibilities of the booking's candidate, and then the booking itself. The booking must be open.
   * @throws DomainError booking_not_found, booking_closed
   */
  async lockToMove(accountCode: string, bookingCode: string): Promise<Booking> {
    const { candidate_id } = await this.get(accountCode, bookingCode);
    await this.commandBus.execute(new LockEligibilitiesOfCandidate(accountCode, candidate_id));
    return this.lockHeld(accountCode, bookingCode, ['BOOKED']);
  }

  /**
   * Locks all eligibilities of the booking's candidate, and then the booking itself. The booking must be open, or be
   * the last booking that the candidate missed.
   * @throws DomainError booking_not_found, booking_closed
   */
  async lockToExcuse(accountCode: string, bookingCode: string): Promise<Booking> {
    const { candidate_id, svc_eligiblity_id } = await this.get(accountCode, bookingCode);
    await this.commandBus.execute(new LockEligibilitiesOfCandidate(accountCode, candidate_id));
    const booking = await this.lockHeld(accountCode, bookingCode, ['BOOKED', 'ABSENT']);
    // Of the record's missed bookings, only the last can still change: it can be excused, or a result can complete it.
    // The other missed bookings stay ABSENT.
    const last = await this.lockLastKept(svc_eligiblity_id);
    if (last?.booking_code !== bookingCode) throw bookingClosed.error();
    return booking;
  }

  private async lockHeld(accountCode: string, bookingCode: string, open: BookingStatus[]): Promise<Booking> {
    const booking = await this.database.queryOne<Booking>(LOCK, [bookingCode, accountCode]);
    if (!booking) throw bookingNotFound.error();
    if (!open.includes(booking.status)) throw bookingClosed.error();
    return booking;
  }

  /**
   * Locks and returns the eligibility record's last booking that is open (BOOKED) or that the candidate missed
   * (ABSENT); null if there is none.
   */
  async lockLastKept(svcEligibilityId: string): Promise<Booking | null> {
    return this.database.queryOne<Booking>(LOCK_LAST_KEPT, [svcEligibilityId]);
  }

  /** Stores a new booking, and raises its first event. */
  add(
    eventClass: BookingEventClass,
    eligibility: BookedEligibility,
    draft: BookingDraft,
    completion: Completion = null,
  ): Booking {
    const now = this.clock.now();
    const { bookingCode, appointment, status } = draft;
    const { svc_eligiblity_id, account_code, candidate_id, test_code } = eligibility;
    const booking: Booking = {
      booking_code: bookingCode,
      svc_eligiblity_id,
      account_code,
      candidate_id,
      test_code,
      status,
      ...appointment,
      event_sequence: 1,
      created_datetime: now,
      updated_datetime: now,
    };
    this.unitOfWork.keep(ADD, booking);
    this.raise(eventClass, booking, eligibility, completion);
    return booking;
  }

  /** Stores the changed booking, and raises its next event. */
  save(
    eventClass: BookingEventClass,
    booking: Booking,
    eligibility: BookedEligibility,
    completion: Completion = null,
  ): void {
    const now = this.clock.now();
    booking.event_sequence += 1;
    booking.updated_datetime = now;
    this.unitOfWork.send(SAVE, [booking.booking_code, ...CHANGING_COLUMNS.map((column) => booking[column])]);
    this.raise(eventClass, booking, eligibility, completion);
  }

  private raise(
    eventClass: BookingEventClass,
    booking: Booking,
    eligibility: BookedEligibility,
    completion: Completion,
  ): void {
    const { account_code, svc_eligiblity_id, candidate_id, test_code, booking_code, event_sequence } = booking;
    const { changeReason } = eventClass;
    const occurredAt = eligibility.last_event_at!;
    const notification = notificationRequest(changeReason, booking, eligibility, occurredAt);
    this.unitOfWork.raise(
      new eventClass(notification, {
        eventId: newEventId(),
        accountCode: account_code,
        stream: booking_code,
        sequence: event_sequence,
        occurredAt,
        traceparent: requestContext().traceparent,
      }),
    );
    this.unitOfWork.change({
      kind: completion ? 'RESULT' : 'BOOKING',
      change: FEED_CHANGES[changeReason],
      at: booking.updated_datetime,
      account_code,
      svc_eligiblity_id,
      candidate_id,
      test_code,
      booking_code,
      status: eligibility.status,
      revision: completion?.revision,
      event_sequence,
      notification,
    });
  }
}
