import { UsaStates } from 'usa-states';
import { statusAt, type EligibilityState, type EligibilityStatus } from './eligibility.fields.js';

/** Returns whether a time is within the record's window. The first and the last second of the window are included. */
export function isInWindow(
  { schedule_start_date, eligibility_end_date }: Pick<EligibilityState, 'schedule_start_date' | 'eligibility_end_date'>,
  moment: Date,
): boolean {
  return (
    (schedule_start_date === null || schedule_start_date <= moment) &&
    (eligibility_end_date === null || moment <= eligibility_end_date)
  );
}

export function isEligibleToSchedule(record: EligibilityState, now: Date): boolean {
  return statusAt(record, now) === 'ELIGIBLE' && isInWindow(record, now);
}

/** Returns the reason why the candidate cannot schedule the exam; null if the candidate can schedule it. */
export function statusMessage(record: EligibilityState, now: Date): string | null {
  switch (statusAt(record, now)) {
    case 'PENDING':
      if (record.hold_reason !== null) return `Blocked: ${record.hold_reason}`;
      return record.decline_reason !== null
        ? `Special accommodations declined: ${record.decline_reason}`
        : 'Pending approval of special accommodations';
    case 'ELIGIBLE':
      return isInWindow(record, now) ? null : 'The scheduling window has not begun';
    case 'SCHEDULED':
      return record.hold_reason !== null
        ? `Already scheduled, and blocked: ${record.hold_reason}`
        : 'Already scheduled';
    case 'COMPLETED':
      return 'The exam has been taken';
    case 'ABSENT':
      return 'The candidate did not appear';
    case 'EXPIRED':
      return 'The scheduling window is over';
    case 'CANCELLED':
      return 'The eligibility was cancelled';
  }
}

/** Returns the status to store for an open record that has no booking: PENDING or ELIGIBLE. */
export function openStatus({
  hold_reason,
  approval_pending,
}: Pick<EligibilityState, 'hold_reason' | 'approval_pending'>): 'PENDING' | 'ELIGIBLE' {
  return approval_pending || hold_reason !== null ? 'PENDING' : 'ELIGIBLE';
}

export const TRIGGERS = [
  'update',
  'cancel',
  'hold',
  'release',
  'approve',
  'decline',
  'set vouchers',
  'book',
  'move booking',
  'cancel booking',
  'excused absence',
  'absence',
  'result',
  'launch',
] as const;
export type Trigger = (typeof TRIGGERS)[number];

const ALLOWED: Record<Trigger, readonly EligibilityStatus[]> = {
  update: ['PENDING', 'ELIGIBLE', 'SCHEDULED', 'EXPIRED'],
  cancel: ['PENDING', 'ELIGIBLE', 'EXPIRED'],
  hold: ['PENDING', 'ELIGIBLE', 'SCHEDULED'],
  release: ['PENDING', 'ELIGIBLE', 'SCHEDULED', 'EXPIRED'],
  approve: ['PENDING', 'ELIGIBLE', 'EXPIRED'],
  decline: ['PENDING'],
  'set vouchers': ['PENDING', 'ELIGIBLE', 'EXPIRED'],
  book: ['ELIGIBLE'],
  'move booking': ['SCHEDULED'],
  'cancel booking': ['SCHEDULED'],
  'excused absence': ['SCHEDULED', 'ABSENT'],
  absence: ['SCHEDULED'],
  result: ['SCHEDULED', 'ELIGIBLE', 'PENDING', 'EXPIRED', 'ABSENT'],
  launch: ['ELIGIBLE', 'SCHEDULED'],
};

/** Returns whether a record with the given status allows the action `trigger`. */
export function mayTrigger(status: EligibilityStatus, trigger: Trigger): boolean {
  return ALLOWED[trigger].includes(status);
}

/** The names of the actions in the API, in the order of {@link TRIGGERS}. */
export const ACTIONS = TRIGGERS.map((trigger) => trigger.toUpperCase().replaceAll(' ', '_'));
export type Action = string;

/**
 * Returns the actions that the record allows at a given time. A launch also needs a `launch_url` of the test, which
 * this function does not check.
 */
export function allowedActions(record: EligibilityState, now: Date): Action[] {
  const status = statusAt(record, now);
  return TRIGGERS.filter((trigger) => mayTrigger(status, trigger) && isOfUse(trigger, record, now)).map(
    (trigger) => ACTIONS[TRIGGERS.indexOf(trigger)],
  );
}

function isOfUse(trigger: Trigger, record: EligibilityState, now: Date): boolean {
  switch (trigger) {
    case 'release':
      return record.hold_reason !== null;
    case 'approve':
    case 'decline':
      return record.approval_pending;
    case 'book':
      return isEligibleToSchedule(record, now);
    case 'launch':
      return isInWindow(record, now) && record.hold_reason === null;
    default:
      return true;
  }
}

/** The period that an exam occupies. An exam whose duration is unknown counts as one second long. */
export interface TimeSlot {
  booking_code: string | null;
  booking_on: Date | null;
  duration_minutes: number | null;
}

/** Returns the code of the first booking in `others` that overlaps the slot; null if none overlaps. */
export function overlappingBooking(slot: Omit<TimeSlot, 'booking_code'>, others: readonly TimeSlot[]): string | null {
  const [start, end] = spanOf(slot);
  const overlaps = (other: TimeSlot) => {
    const [otherStart, otherEnd] = spanOf(other);
    return start < otherEnd && otherStart < end;
  };
  return others.find((other) => other.booking_on !== null && overlaps(other))?.booking_code ?? null;
}

function spanOf({ booking_on, duration_minutes }: Omit<TimeSlot, 'booking_code'>): [number, number] {
  const start = booking_on!.getTime();
  return [start, start + (duration_minutes === null ? 1_000 : duration_minutes * 60_000)];
}

// The codes of USPS Publication 28, appendix B. The library `UsaStates` provides the codes of states, DC and
// territories, but not the military codes AA, AE and AP.
const USPS_CODES = new Set([
  ...new UsaStates({ includeTerritories: true } as ConstructorParameters<typeof UsaStates>[0]).arrayOf('abbreviations'),
  ...['AA', 'AE', 'AP'],
]);

/** Returns whether the text is a two-letter USPS code of a state, territory or military post, in upper case. */
export function isUspsCode(code: string): boolean {
  return USPS_CODES.has(code);
}

/** Returns whether two lists have the same members, regardless of order and duplicates. */
export function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  const members = new Set(left);
  return members.size === new Set(right).size && right.every((member) => members.has(member));
}

/**
 * Returns the requested portions of a test without duplicates. If none are requested and the test has only one portion,
 * returns that portion.
 */
export function chosenPortions(asked: readonly string[], ofTest: readonly string[]): string[] {
  return asked.length === 0 && ofTest.length === 1 ? [...ofTest] : [...new Set(asked)];
}
