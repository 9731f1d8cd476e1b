import type { Schemas } from '../api/client';
import { eventText } from '../notification/words';

export type Change = Schemas['ChangeModel'];
export type Notification = Schemas['NotificationModel'];
export type Result = Schemas['ResultSummaryModel'];

/**
 * An entry of a candidate's timeline. It is a change, or it is a notification or a result that belongs to no known
 * change.
 */
export interface Entry {
  key: string;
  at: string;
  kind: 'ELIGIBILITY' | 'BOOKING' | 'RESULT';
  title: string;
  test: string | null;
  change: Change | null;
  /**
   * The previous start of the exam, if the change moved the exam; null for other changes, or if the start is unknown.
   */
  movedFrom: string | null;
  /** The result that arrived with the change. */
  result: Result | null;
  /** The notifications about the change, one for each partner. */
  notifications: Notification[];
}

const TITLES: Record<string, string> = {
  CREATED: 'Record created',
  UPDATED: 'Record updated',
  HELD: 'Record put on hold',
  RELEASED: 'Hold released',
  APPROVED: 'Accommodations approved',
  EXPIRING: 'Record expires soon',
  EXPIRED: 'Record expired',
  CANCELLED: 'Record cancelled',
  COMPLETED: 'Record completed',
  SCHEDULED: 'Exam booked',
  RESCHEDULED: 'Exam moved',
  ABSENT: 'Absence recorded',
  EXCUSED_ABSENT: 'Absence excused',
  ERASED: 'Personal data erased',
};
/** The kinds of changes that add a revision of a result. */
const BRINGS_RESULT: readonly string[] = ['RESULT_RECEIVED', 'RESULT_REVISED'];

/**
 * Returns the history of a candidate, newest first. A change, its result and its notifications are one entry. All
 * arguments are sorted newest first.
 */
export function storyOf(
  changes: readonly Change[],
  results: readonly Result[],
  notifications: readonly Notification[],
): Entry[] {
  const resultsByKey = new Map(results.map((result) => [`${result.svc_eligiblity_id} ${result.revision}`, result]));
  const byEvent = new Map<string, Notification[]>();
  for (const notification of notifications) {
    const event = eventOf(notification);
    byEvent.set(event, [...(byEvent.get(event) ?? []), notification]);
  }
  const ofChanges = changes.map((change, index): Entry => {
    const result = BRINGS_RESULT.includes(change.change)
      ? take(resultsByKey, `${change.svc_eligiblity_id} ${change.revision}`)
      : undefined;
    return {
      key: change.id,
      at: change.at,
      kind: change.kind,
      title: TITLES[change.change] ?? eventText(change.change),
      test: change.test_code,
      change,
      movedFrom: change.change === 'RESCHEDULED' ? startBefore(change, changes.slice(index + 1)) : null,
      result: result ?? null,
      notifications: (change.event_sequence === null ? undefined : take(byEvent, eventOfChange(change))) ?? [],
    };
  });
  const others = [
    ...[...resultsByKey].map(([key, result]): Entry => ({
      key,
      at: result.received_datetime,
      kind: 'RESULT',
      title: result.simulated ? 'Simulated result received' : 'Result received',
      test: result.test_code,
      change: null,
      movedFrom: null,
      result,
      notifications: [],
    })),
    ...[...byEvent].map(([key, told]): Entry => ({
      key,
      at: told[0].created_datetime,
      kind: 'BOOKING',
      title: TITLES[told[0].change_reason] ?? eventText(told[0].change_reason),
      test: null,
      change: null,
      movedFrom: null,
      result: null,
      notifications: told,
    })),
  ];
  // The sort is stable, so changes in the same second keep their order.
  return [...ofChanges, ...others].sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
}

/**
 * Returns the start of the exam that the latest earlier change to the booking states; `earlier` is sorted newest first.
 */
function startBefore({ booking_code: booking }: Change, earlier: readonly Change[]): string | null {
  const last = earlier.find((change) => change.booking_code === booking && change.notification !== null);
  return last?.notification?.booking_on ?? null;
}

/** Returns the key of an event. Events are numbered within their booking or, without a booking, within their record. */
function eventOf({ booking_code: booking, svc_eligiblity_id: record, event_sequence: number }: Notification): string {
  return `${booking ?? record} ${number}`;
}

function eventOfChange({ notification, booking_code: booking, svc_eligiblity_id: record, event_sequence }: Change) {
  return `${notification === null ? record : booking} ${event_sequence}`;
}

function take<Value>(from: Map<string, Value>, key: string): Value | undefined {
  const value = from.get(key);
  from.delete(key);
  return value;
}
