import type { Option } from '../components/fields';
import type { Schemas } from '../api/client';
import { FAILURES } from '../components/failure-text';

type Notification = Schemas['NotificationModel'];

export const FAILURE_OPTIONS: readonly Option[] = [
  ...Object.entries(FAILURES).map(([failure, text]): Option => [failure, `${text} (${failure})`]),
  ['none', 'Not tried yet'],
];

/** Returns a sentence about an attempt without any content of an answer. */
export const missingAnswerText = ({ http_status: status }: { http_status?: number | null }): string =>
  status == null ? 'The partner did not answer.' : 'The partner’s answer was empty.';

export const CHANGE_REASON_OPTIONS: readonly Option[] = (
  [
    'BOOKING_CREATED',
    'BOOKING_CANCELLED',
    'BOOKING_RESCHEDULED',
    'EXAM_COMPLETED',
    'EXCUSED_ABSENT',
    'ABSENT',
  ] satisfies Notification['change_reason'][]
).map((reason): Option => [reason, eventText(reason)]);

const RECORD_CHANGES: Record<Schemas['SubscriptionModel']['record_changes'][number], string> = {
  CREATED: 'Record created',
  UPDATED: 'Record changed',
  APPROVED: 'Accommodations approved',
  HELD: 'Record put on hold',
  RELEASED: 'Hold released',
  CANCELLED: 'Record cancelled',
  EXPIRING: 'Window ends soon',
  EXPIRED: 'Record expired',
  RESULT_REVISED: 'Result revised',
  RESULT_HELD: 'Result held',
  RESULT_RELEASED: 'Result released',
  RESULT_REVOKED: 'Result revoked',
  ERASED: 'Candidate erased',
};
export const RECORD_CHANGE_OPTIONS: readonly Option[] = Object.entries(RECORD_CHANGES);
/** The options of the event filter, for booking events and record changes. */
export const NOTIFIED_OPTIONS: readonly Option[] = [...CHANGE_REASON_OPTIONS, ...RECORD_CHANGE_OPTIONS];

/** Returns the words for the event of a notification. */
export function notifiedText(reason: string): string {
  return (RECORD_CHANGES as Record<string, string>)[reason] ?? eventText(reason);
}

export const STATE_OPTIONS: readonly Option[] = [
  ['PENDING', 'Pending'],
  ['DELIVERED', 'Delivered'],
  ['ERROR_QUEUE', 'Error queue'],
  ['RESOLVED', 'Resolved'],
];

/** The options of the filter that selects undelivered notifications by the time until the exam. */
export const EXAM_IN_OPTIONS: readonly Option[] = [
  ['past', 'exam has begun'],
  ['2h', 'within 2 hours'],
  ['24h', 'in 2 to 24 hours'],
  ['7d', 'in 1 to 7 days'],
  ['later', 'later, or unknown'],
];

export const RETRY_OPTIONS: readonly Option[] = [
  ['MANUAL', 'Manual'],
  ['AUTO', 'Automatic'],
];

export function retryText(retry: Notification['retry']): string {
  return retry === 'AUTO' ? 'Automatic' : retry === 'MANUAL' ? 'Manual' : '–';
}

const RETRY_CAUSES: Record<string, string> = { timeout: FAILURES.timeout, connection: FAILURES.connect };

/**
 * Returns the words for a failure after which the service retries automatically. If `cause` is a number, it is an HTTP
 * status.
 */
export function retryCauseText(cause: string): string {
  return RETRY_CAUSES[cause] ?? `HTTP ${cause}`;
}

/** Converts an event's name to words: `BOOKING_CREATED` becomes "Booking created". */
export function eventText(reason: string): string {
  return reason.charAt(0) + reason.slice(1).toLowerCase().replaceAll('_', ' ');
}
