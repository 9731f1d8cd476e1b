import type { Option } from '../components/fields';
import type { Schemas } from '../api/client';

type Notification = Schemas['NotificationModel'];

const FAILURES: Record<NonNullable<Notification['failure']>, string> = {
  dns: 'Host name not found',
  connect: 'No connection',
  tls: 'TLS error',
  timeout: 'No answer in time',
  auth: 'Not authorized',
  redirect: 'Redirect',
  client_error: 'Refused',
  server_error: 'Error at the partner',
  protocol: 'Unexpected answer',
  blocked: 'Address not allowed',
};

/**
 * Describes in words why the delivery of a notification failed. Null means that no attempt was made, because the
 * partner was DOWN.
 */
export function failureText(failure: Notification['failure']): string {
  return failure == null ? 'Not tried yet' : FAILURES[failure];
}

const REASONS: Record<string, string> = {
  NO_MATCHING_RECORD: 'The partner does not know this candidate or exam',
  GIVEN_UP: 'Automatic retries have stopped, because the partner was down or busy for too long',
  ONLY_THIS_EVENT: 'The partner returns status 500 for this event only',
};

/** Returns the description of a failure's reason; for an unknown reason, returns its code. */
export function reasonText(reason: string): string {
  return REASONS[reason] ?? reason;
}

export const FAILURE_OPTIONS: readonly Option[] = [
  ...Object.entries(FAILURES).map(([failure, text]): Option => [failure, `${text} (${failure})`]),
  ['none', 'Not tried yet'],
];

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
/** The options of the event filter: booking events and record changes. */
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

/** Converts an event's name to words: `BOOKING_CREATED` becomes "Booking created". */
export function eventText(reason: string): string {
  return reason.charAt(0) + reason.slice(1).toLowerCase().replaceAll('_', ' ');
}
