import { ApiProperty } from '@nestjs/swagger';
import { OptionalBody } from '../../platform/http/request-form.js';
import { Field, joined } from '../../platform/validation/fields.js';
import { idInPath, uuidRule } from '../../platform/validation/identifiers.js';
import { PageQuery } from '../../platform/http/paging.js';
import { timeZone } from '../../platform/validation/formats.js';
import { dateTime, fault, integer, oneOf, text, type Rule } from '../../platform/validation/rules.js';
import { ATTEMPT_TRIGGERS, type AttemptTrigger } from '../delivery/delivery.entity.js';
import { NONE, type NotificationConditions } from '../delivery/notification-filter.js';
import type { NotificationState, Retry } from '../delivery/notification.entity.js';
import { NOTIFIED_CHANGES, type NotifiedChange } from '../notified-change.js';
import { EXAM_IN, type ExamIn } from '../notifications.queries.js';
import type { FailureClass } from '../partner/partner-connection.js';
import { NO_ADDRESS_SHOWN } from '../subscriptions/pace.fields.js';

const FAILURES: readonly FailureClass[] = [
  'dns',
  'connect',
  'tls',
  'timeout',
  'auth',
  'redirect',
  'client_error',
  'server_error',
  'protocol',
  'blocked',
];
const LIST_ORDERS = ['newest', 'oldest'] as const;
export type ListOrder = (typeof LIST_ORDERS)[number];
const STATES: readonly NotificationState[] = ['PENDING', 'DELIVERED', 'ERROR_QUEUE', 'RESOLVED'];
const failure = oneOf(FAILURES, 'failure_unknown');
const retry = oneOf(['AUTO', 'MANUAL'], 'retry_unknown');
export const changeReason = oneOf(NOTIFIED_CHANGES, 'change_reason_unknown');
/** The description of a filter by booking. */
export const BOOKING_OR_RECORD = 'The code of a booking or, for changes of a record, its svc_eligiblity_id.';
/** The description of the time zone of an exam. */
export const EXAM_ZONE =
  'The time zone of the exam, as this notification states it. The value is null if the notification states none.';
export const count = integer(0, Number.MAX_SAFE_INTEGER);
export const candidateName = text({ max: 201 });
export const CANDIDATE_NAME_TEXT =
  'Name of the candidate, as the notification states it. The value is null for a change to a record, and after the candidate’s data was erased.';
export const PREVIOUS_BOOKING_ON_TEXT =
  'Start of the exam before it was moved, as the partner’s previous notification states it. The value is null for other changes.';
const causeCode = text({ min: 1, max: 100 });
export const reason = text({ min: 1, max: 1000, notBlank: true, lines: true });

/** The validation rule for an HTTP status: a number in a body, or digits in a query. */
const httpStatus: Rule = {
  schema: integer(100, 999).schema,
  faults: (value) =>
    /^[1-9]\d\d$/.test(typeof value === 'number' || typeof value === 'string' ? String(value) : '')
      ? []
      : [fault('http_status_invalid', 'Must be a status of three digits.')],
};

/** The path parameter of the route that reads one notification. */
export class NotificationPath {
  @Field(idInPath, { required: true })
  id: string;
}

/** The path parameter of the routes for one entry of the error queue. */
export class QueuedPath {
  @Field(idInPath, { required: true })
  notification_id: string;
}

/**
 * The conditions of a filter on notifications, which must all match. The queries of lists and the bodies of bulk jobs
 * use this filter.
 */
export class NotificationFilter implements NotificationConditions {
  @Field(text({ min: 1, max: 50 }))
  account_code?: string;

  @Field(uuidRule)
  subscription_id?: string;

  @Field(changeReason)
  change_reason?: NotifiedChange;

  @Field(oneOf([...FAILURES, NONE], 'failure_unknown'), {
    description: 'Only notifications with this class of failure. `none` selects notifications without an attempt.',
  })
  failure?: FailureClass | typeof NONE;

  @Field(causeCode, {
    description: 'Only notifications with this cause. `none` selects notifications without a cause.',
  })
  reason?: string;

  @Field(httpStatus)
  http_status?: number | string;

  @Field(retry)
  retry?: Retry;

  @Field(dateTime(), { description: 'Only notifications that were created at this time or later.' })
  from?: string;

  @Field(dateTime('end'), { description: 'Only notifications that were created before this time.' })
  to?: string;

  @Field(text({ min: 1, max: 50 }), { description: BOOKING_OR_RECORD })
  booking_code?: string;

  @Field(text({ min: 1, max: 50 }))
  candidate_id?: string;
}

/**
 * The query of the error queue's list. It is a single class, so that one error response lists all invalid parameters of
 * a request.
 */
export class ErrorQueueQuery extends joined(NotificationFilter, PageQuery) {
  @Field(oneOf(LIST_ORDERS, 'order_unknown'), {
    description:
      'The notifications that are listed first: `newest`, which is the default, or `oldest`. A cursor belongs to the order of its list.',
  })
  order?: ListOrder;
}

export class NotificationQuery extends ErrorQueueQuery {
  @Field(oneOf(STATES, 'state_unknown'))
  state?: NotificationState;

  @Field(oneOf(EXAM_IN, 'exam_in_unknown'), {
    description:
      'Only undelivered notifications whose exam starts within this time from now. The list is then sorted by the start of the exam, the next one first, and `order` has no effect.',
  })
  exam_in?: ExamIn;
}

export class NotificationModel {
  @Field(uuidRule, { required: true, description: 'The `webhook-id`.' })
  id: string;

  @Field(text({ max: 50 }), { required: true })
  account_code: string;

  @Field(uuidRule, { required: true })
  subscription_id: string;

  @Field(text({ max: 100 }), { always: true })
  subscription_name: string | null;

  @Field(text({ max: 2000 }), { always: true, description: NO_ADDRESS_SHOWN })
  partner_url: string | null;

  @Field(text({ max: 50 }), { required: true })
  candidate_id: string;

  @Field(candidateName, { always: true, description: CANDIDATE_NAME_TEXT })
  candidate_name: string | null;

  @Field(dateTime(), {
    always: true,
    description: 'Start of the exam, as this notification states it. The value is null for a change of a record.',
  })
  booking_on: string | null;

  @Field(dateTime(), { always: true, description: PREVIOUS_BOOKING_ON_TEXT })
  previous_booking_on: string | null;

  @Field(timeZone(), { always: true, description: EXAM_ZONE })
  location_timezone: string | null;

  @Field(changeReason, { required: true })
  change_reason: NotifiedChange;

  @Field(text({ max: 50 }), { always: true, description: 'The value is null for a change of a record.' })
  booking_code: string | null;

  @Field(text({ max: 50 }), { always: true, description: 'The changed record; null for a change of a booking.' })
  svc_eligiblity_id: string | null;

  @Field(integer(1, 2 ** 31 - 1), { required: true })
  event_sequence: number;

  @Field(dateTime(), { required: true })
  effective_date: string;

  @Field(oneOf(STATES, 'state_unknown'), { required: true })
  state: NotificationState;

  @Field(retry)
  retry: Retry | null;

  @Field(failure)
  failure: FailureClass | null;

  @Field(httpStatus)
  http_status: number | null;

  @Field(dateTime(), { description: 'The earliest time of the next attempt.' })
  next_attempt_at: string | null;

  @Field(dateTime(), { required: true })
  created_datetime: string;

  @Field(dateTime())
  delivered_datetime: string | null;
}

export class AttemptModel {
  @Field(dateTime(), { required: true })
  at: string;

  @Field(count, { required: true })
  duration_ms: number;

  @Field(oneOf(ATTEMPT_TRIGGERS, 'trigger_unknown'), { required: true })
  trigger: AttemptTrigger;

  @Field(httpStatus)
  http_status: number | null;

  @Field(failure)
  failure: FailureClass | null;

  @Field(causeCode, { description: 'A short code of the cause. The value is null when the status alone describes it.' })
  reason: string | null;

  @Field(text({ max: 2048 }), { description: 'The beginning of the partner’s answer.' })
  excerpt: string | null;
}

export class NotificationDetail extends NotificationModel {
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'The NotificationRequest.' })
  body: object;

  @ApiProperty({ type: () => AttemptModel, isArray: true, required: true, description: 'The attempts, oldest first.' })
  attempts: AttemptModel[];
}

export class CauseModel {
  @Field(uuidRule, { required: true })
  subscription_id: string;

  @Field(text({ max: 50 }), { required: true })
  account_code: string;

  @Field(text({ max: 100 }), { always: true })
  subscription_name: string | null;

  @Field(text({ max: 2000 }), { always: true, description: NO_ADDRESS_SHOWN })
  partner_url: string | null;

  @Field(failure, {
    description: 'Class of the failure. The value is null if no attempt was made because the partner was DOWN.',
  })
  failure: FailureClass | null;

  @Field(causeCode, { description: 'A short code of the cause. The value is null when the status alone describes it.' })
  reason: string | null;

  @Field(httpStatus)
  http_status: number | null;

  @Field(retry, { required: true })
  retry: Retry;

  @Field(count, { required: true })
  count: number;

  @Field(dateTime(), { required: true })
  oldest: string;

  @Field(dateTime(), { required: true })
  newest: string;

  @Field(dateTime(), { description: 'The next exam start among its bookings. The value is null when there is none.' })
  next_booking_on: string | null;

  @Field(timeZone(), { always: true, description: 'The time zone of that exam. The value is null when it is unknown.' })
  next_location_timezone: string | null;
}

@OptionalBody
export class ResendOneBody {
  @Field(reason)
  reason?: string | null;
}

export class ResolveBody {
  @Field(reason, { required: true })
  reason: string;
}
