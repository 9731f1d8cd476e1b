import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock.js';
import type { AllowedAccounts } from '../platform/context/caller.js';
import type { RecordEventClass } from '../platform/changes/record-event.js';
import { Batched, numbered } from '../platform/database/batched.js';
import { acrossAccounts, Database, expectingFew, prepared, violatedConstraint } from '../platform/database/database.js';
import { nextOccurredAt } from '../platform/events/domain-event.js';
import { MustBeAlone } from '../platform/unit-of-work/running-unit.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import type { BookedEligibility, LockedEligibility } from './eligibility.commands.js';
import { Eligibility } from './eligibility.entity.js';
import { eligibilityNotFound } from './eligibility.errors.js';
import { EligibilityExpired } from './eligibility.events.js';
import { ACTIVE_STATUSES, LIVE, statusAt } from './eligibility.fields.js';
import { type TimeSlot } from './eligibility.rules.js';
import type { Attempt } from './retake.rules.js';

/** Selects a record, and the members of its test that a booking needs. */
const BOOKED = `e.*, t.exam_code, t.duration_minutes, t.change_cutoff_hours, t.retake,
  (SELECT coalesce(json_agg(json_build_object('portion_code', chosen.code, 'portion_name', portion.portion_name)
     ORDER BY chosen.ordinal), '[]')
   FROM unnest(e.portion_codes) WITH ORDINALITY AS chosen (code, ordinal)
   LEFT JOIN test_portions portion ON portion.account_code = e.account_code AND portion.test_code = e.test_code
     AND portion.portion_code = chosen.code) AS exam_portions`;
const WITH_TEST = 'JOIN tests t ON t.account_code = e.account_code AND t.test_code = e.test_code';
const LOCK_OF_TEST = prepared(
  'eligibility-lock-of-test',
  `SELECT ${BOOKED} FROM eligibilities e ${WITH_TEST} WHERE e.account_code = $1 AND e.candidate_id = $2 AND e.test_code = $3
   ORDER BY e.position DESC FOR UPDATE OF e`,
);
const LOCK_OF_CANDIDATE = prepared(
  'eligibility-lock-of-candidate',
  `SELECT ${BOOKED} FROM eligibilities e ${WITH_TEST} WHERE e.account_code = $1 AND e.candidate_id = $2
   ORDER BY e.position DESC FOR UPDATE OF e`,
);
// Locks the records of many candidates at once. For a record that another transaction has locked, all columns are null.
// The inner ORDER BY is the order of the index on a candidate's records, so that the planner picks no other index
// (eligibility-creation.ts).
export const LOCK_FREE_OF_CANDIDATES = prepared(
  'eligibility-lock-free-of-candidates',
  `SELECT asked.n, free.*
   FROM json_to_recordset($1) AS asked (n bigint, account_code text, candidate_id text)
   CROSS JOIN LATERAL (
     SELECT svc_eligiblity_id, position FROM eligibilities e
     WHERE e.account_code = asked.account_code AND e.candidate_id = asked.candidate_id
     ORDER BY e.test_code, e.position DESC OFFSET 0) known
   LEFT JOIN LATERAL (
     SELECT ${BOOKED} FROM eligibilities e ${WITH_TEST} WHERE e.svc_eligiblity_id = known.svc_eligiblity_id
     OFFSET 0 FOR UPDATE OF e SKIP LOCKED) free ON true
   ORDER BY asked.n, known.position DESC`,
);
const LOCK_BY_ID = prepared(
  'eligibility-lock-by-id',
  `SELECT ${BOOKED} FROM eligibilities e ${WITH_TEST}
   WHERE e.svc_eligiblity_id = $1 AND ($2::text[] IS NULL OR e.account_code = ANY ($2)) FOR UPDATE OF e`,
);
const HOLD = prepared(
  'eligibility-hold',
  `SELECT svc_eligiblity_id, account_code, candidate_id, test_code, status, hold_reason, approval_pending,
     decline_reason, schedule_start_date, eligibility_end_date, erased_datetime
   FROM eligibilities
   WHERE svc_eligiblity_id = $1 AND ($2::text[] IS NULL OR account_code = ANY ($2)) FOR UPDATE`,
);
const HOLD_ALL_OF = prepared(
  'eligibility-hold-all-of-candidate',
  'SELECT 1 FROM eligibilities WHERE account_code = $1 AND candidate_id = $2 ORDER BY position DESC FOR UPDATE',
);
export const SAVE_STATE = prepared(
  'eligibility-save-state',
  `UPDATE eligibilities e
   SET status = state.status, hold_reason = state.hold_reason, approval_pending = state.approval_pending,
     decline_reason = state.decline_reason,
     booking_code = state.booking_code, booking_on = state.booking_on, last_event_at = state.last_event_at,
     updated_datetime = state.updated_datetime
   FROM json_to_recordset($1) AS state (n bigint, svc_eligiblity_id text, status text, hold_reason text,
     approval_pending boolean, decline_reason text, booking_code text, booking_on timestamptz, last_event_at timestamptz,
     updated_datetime timestamptz)
   WHERE ${expectingFew('state.n')} AND e.svc_eligiblity_id = state.svc_eligiblity_id`,
  acrossAccounts.keyInHand,
);

const NOTE_EXPIRY = prepared(
  'eligibility-note-expiry',
  `UPDATE eligibilities SET status = 'EXPIRED', updated_datetime = $2 WHERE svc_eligiblity_id = $1`,
  acrossAccounts.keyInHand,
);

const OTHER_BOOKINGS = prepared(
  'eligibility-other-bookings',
  `SELECT e.booking_code, e.booking_on, t.duration_minutes FROM eligibilities e ${WITH_TEST}
   WHERE e.account_code = $1 AND e.candidate_id = $2 AND e.svc_eligiblity_id <> $3 AND e.status = 'SCHEDULED'`,
);
const HAS_LIVE = prepared(
  'eligibility-has-live',
  `SELECT 1 FROM eligibilities WHERE account_code = $1 AND candidate_id = $2 AND test_code = $3 AND ${LIVE}`,
);

const ATTEMPTS = prepared(
  'eligibility-attempts',
  `SELECT status, last_event_at FROM eligibilities WHERE account_code = $1 AND candidate_id = $2 AND test_code = $3`,
);

type State = Pick<
  Eligibility,
  'status' | 'hold_reason' | 'approval_pending' | 'decline_reason' | 'booking_code' | 'booking_on' | 'last_event_at'
>;

/**
 * All eligibility records of one candidate for one test, newest first. The getters select the record to which a request
 * applies.
 */
export class RecordsOfTest<Record extends Pick<Eligibility, 'status'> = BookedEligibility> {
  constructor(readonly newestFirst: readonly Record[]) {}

  /**
   * The active record; null if there is none. A record whose window is over is not active: its status was set to
   * EXPIRED when the records were locked.
   */
  get live(): Record | null {
    return this.newestFirst.find((record) => ACTIVE_STATUSES.includes(record.status)) ?? null;
  }

  get newest(): Record | null {
    return this.newestFirst[0] ?? null;
  }

  /**
   * The record that an update changes: the active record or, if there is none, the newest expired record. Null if a
   * newer record shows that the exam was taken or missed.
   */
  get changeable(): Record | null {
    if (this.live) return this.live;
    if (this.isClosed) return null;
    return this.newestFirst.find((record) => record.status === 'EXPIRED') ?? null;
  }

  /** Whether the newest record shows that the exam was taken or missed. */
  get isClosed(): boolean {
    return this.newest?.status === 'COMPLETED' || this.newest?.status === 'ABSENT';
  }
}

/**
 * Thrown to end a transaction that would make a record active again, because another transaction has already created an
 * active record. The unit of work repeats transactions with this SQLSTATE (serialization_failure), and then finds the
 * active record.
 */
class Overtaken extends Error {
  readonly code = '40001';
}

/**
 * Fetches and locks eligibility records for a change, so that changes to the same record run one after another. The
 * records of a candidate are always locked newest first, so that no deadlock is possible.
 */
@Injectable()
export class EligibilityStore {
  private readonly freeOfCandidates: Batched<object, BookedEligibility & { n: number }>;

  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {
    this.freeOfCandidates = new Batched(database, LOCK_FREE_OF_CANDIDATES, numbered);
  }

  async lockOfTest(accountCode: string, candidateId: string, testCode: string): Promise<RecordsOfTest> {
    const values = [accountCode, candidateId, testCode];
    return this.ofTest(await this.database.query<BookedEligibility>(LOCK_OF_TEST, values));
  }

  /** Locks all records of the candidate, newest first. */
  async lockOfCandidate(
    accountCode: string,
    candidateId: string,
    testCode: string,
  ): Promise<{ records: RecordsOfTest; others: BookedEligibility[] }> {
    const all = this.unitOfWork.isShared
      ? await this.lockFree(accountCode, candidateId)
      : await this.database.query<BookedEligibility>(LOCK_OF_CANDIDATE, [accountCode, candidateId]);
    return {
      records: this.ofTest(all.filter(({ test_code }) => test_code === testCode)),
      others: all.filter(({ test_code }) => test_code !== testCode),
    };
  }

  private ofTest(records: BookedEligibility[]): RecordsOfTest {
    records.forEach((record) => this.noteExpiry(record));
    return new RecordsOfTest(records);
  }

  /**
   * Locks the records of the candidate without waiting for locks, because other commands share the current transaction.
   * @throws MustBeAlone when another transaction has locked a record
   */
  private async lockFree(account_code: string, candidate_id: string): Promise<BookedEligibility[]> {
    const records = await this.freeOfCandidates.ask({ account_code, candidate_id });
    if (records.some(({ svc_eligiblity_id }) => svc_eligiblity_id === null)) throw new MustBeAlone();
    return records;
  }

  /** Returns the open bookings of the candidate's other records. These records are already locked. */
  otherBookings({ account_code, candidate_id, svc_eligiblity_id }: Eligibility): Promise<TimeSlot[]> {
    return this.database.query<TimeSlot>(OTHER_BOOKINGS, [account_code, candidate_id, svc_eligiblity_id]);
  }

  /** Returns the candidate's records for the test, which the current transaction has already locked. */
  attemptsOf({ account_code, candidate_id, test_code }: Eligibility): Promise<Attempt[]> {
    return this.database.query<Attempt>(ATTEMPTS, [account_code, candidate_id, test_code]);
  }

  /** Returns whether the candidate has an active record for the same test. */
  async hasLive({ account_code, candidate_id, test_code }: Eligibility): Promise<boolean> {
    return (await this.database.queryOne(HAS_LIVE, [account_code, candidate_id, test_code])) !== null;
  }

  /**
   * Locks and returns the eligibility record with the given id.
   * @throws DomainError eligibility_not_found, also for a record outside the accounts in `allowedAccounts`
   */
  async lockById(svcEligibilityId: string, allowedAccounts: AllowedAccounts): Promise<BookedEligibility> {
    const record = await this.database.queryOne<BookedEligibility>(LOCK_BY_ID, [svcEligibilityId, allowedAccounts]);
    if (!record) throw eligibilityNotFound.error();
    this.noteExpiry(record);
    return record;
  }

  async hold(svcEligibilityId: string, allowedAccounts: AllowedAccounts): Promise<LockedEligibility | null> {
    return this.database.queryOne<LockedEligibility>(HOLD, [svcEligibilityId, allowedAccounts]);
  }

  async holdAllOf(accountCode: string, candidateId: string): Promise<void> {
    await this.database.query(HOLD_ALL_OF, [accountCode, candidateId]);
  }

  /** Stores the record's expiry, if the window ended before the current change and the sweep has not stored it. */
  private noteExpiry(record: Eligibility): void {
    const { eligibility_end_date: end, updated_datetime: updated } = record;
    if (record.status === 'EXPIRED' || statusAt(record, this.clock.now()) !== 'EXPIRED') return;
    Object.assign(record, { status: 'EXPIRED', updated_datetime: updated > end! ? updated : end });
    this.unitOfWork.send(NOTE_EXPIRY, [record.svc_eligiblity_id, record.updated_datetime]);
    this.raise(EligibilityExpired, record, end!);
  }

  /** Raises an event with the current state of the record, and appends the change to the change feed. */
  raise(eventClass: RecordEventClass, record: Eligibility, at = record.updated_datetime): void {
    const { account_code, svc_eligiblity_id, candidate_id, test_code } = record;
    this.unitOfWork.raiseOf(eventClass, {
      kind: 'ELIGIBILITY',
      at,
      account_code,
      svc_eligiblity_id,
      candidate_id,
      test_code,
      status: statusAt(record, at),
    });
  }

  /** Writes the state of the record, and the time of the change. */
  changeState<Record extends Eligibility>(record: Record, changes: Partial<State>, now: Date): Record {
    Object.assign(record, changes, { updated_datetime: now });
    const { svc_eligiblity_id, status, hold_reason, approval_pending, decline_reason } = record;
    const { booking_code, booking_on, last_event_at, updated_datetime } = record;
    this.unitOfWork.keep(SAVE_STATE, {
      svc_eligiblity_id,
      status,
      hold_reason,
      approval_pending,
      decline_reason,
      booking_code,
      booking_on,
      last_event_at,
      updated_datetime,
    });
    return record;
  }

  /** Writes the state that the record gets from a change to its booking, and the time of the booking's event. */
  followBooking(record: BookedEligibility, changes: Partial<State>, now: Date): BookedEligibility {
    return this.changeState(record, { ...changes, last_event_at: nextOccurredAt(now, record.last_event_at) }, now);
  }

  /**
   * Immediately writes the given members of the record, and the time of the change. If the change makes the record
   * active again while another transaction creates an active record, the unit of work is repeated.
   */
  async change(record: Eligibility, changes: Partial<Eligibility>, now: Date): Promise<Eligibility> {
    Object.assign(record, changes, { updated_datetime: now });
    const values = { ...changes, updated_datetime: now };
    try {
      await this.database.manager.update(Eligibility, record.svc_eligiblity_id, values);
    } catch (error) {
      throw violatedConstraint(error) === 'eligibilities_live_key' ? new Overtaken() : error;
    }
    return record;
  }
}
