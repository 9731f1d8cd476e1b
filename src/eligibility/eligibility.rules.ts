import { UsaStates } from 'usa-states';
import { statusAt, type EligibilityState, type EligibilityStatus } from './eligibility.fields.js';

/** Whether a moment lies in the record's window; both ends belong to it. */
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

/** Why the candidate cannot schedule; null exactly when the candidate can. */
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

/** The stored status of a record that is open and not booked. */
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

/** Whether a record of this status (as of now) may meet the trigger. */
export function mayTrigger(status: EligibilityStatus, trigger: Trigger): boolean {
  return ALLOWED[trigger].includes(status);
}

/** The triggers as the API names them. */
export const ACTIONS = TRIGGERS.map((trigger) => trigger.toUpperCase().replaceAll(' ', '_'));
export type Action = string;

/** Returns the actions that the record allows at an instant. That a test can be launched at all is for its `launch_url` to say. */
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

/** When an exam takes place; one of unknown duration is taken to last a second. */
export interface TimeSlot {
  booking_code: string | null;
  booking_on: Date | null;
  duration_minutes: number | null;
}

/** Returns the first booking of `others` that takes place while this one does, else null. */
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

// USPS Publication 28, appendix B: the library has states, DC and territories; the military codes are added.
const USPS_CODES = new Set([
  ...new UsaStates({ includeTerritories: true } as ConstructorParameters<typeof UsaStates>[0]).arrayOf('abbreviations'),
  ...['AA', 'AE', 'AP'],
]);

/** Whether the text is a two-letter USPS code of a state, territory or military post, in upper case. */
export function isUspsCode(code: string): boolean {
  return USPS_CODES.has(code);
}

/** Whether two lists have the same members, in whatever order and however often. */
export function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  const members = new Set(left);
  return members.size === new Set(right).size && right.every((member) => members.has(member));
}

/** The candidate's portions: what was asked for, each once; the only portion of a single-portion test when nothing was. */
export function chosenPortions(asked: readonly string[], ofTest: readonly string[]): string[] {
  return asked.length === 0 && ofTest.length === 1 ? [...ofTest] : [...new Set(asked)];
}
