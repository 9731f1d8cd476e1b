import { Injectable } from '@nestjs/common';
import { Clock, formatDateTime, formatOptionalDateTime } from '../../platform/clock.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { currentAllowedAccounts, currentAllowedSubscriptions } from '../../platform/context/request-context.js';
import { notFound } from '../../platform/errors.js';
import type { Page } from '../../platform/http/paging.js';
import type { Notification, NotificationState } from '../delivery/notification.entity.js';
import type { NotificationAttempt } from '../delivery/notification-attempt.entity.js';
import { ABOUT } from '../delivery/notification-columns.js';
import { acrossOf, conditionsOf, type NotificationConditions } from '../delivery/notification-filter.js';
import { startsIn } from '../delivery/exam-in.js';
import type { ExamIn } from '../notifications.queries.js';
import { ADDRESS } from '../subscriptions/subscription.rules.js';
import { FilterBounds } from './filter-bounds.js';
import type { CauseModel, ListOrder, NotificationDetail, NotificationModel } from './notifications.dto.js';
import { ERASED_ID } from '../../platform/personal-data.js';
import { isUuid } from '../../platform/validation/identifiers.js';

export const CANDIDATE_ID = `n.body::json->>'candidate_id'`;
export const BOOKING_ON = `n.body::json->>'booking_on'`;
/** SQL: the name of the candidate; null after an erasure, and in a notification about a change to a record. */
export const CANDIDATE_NAME = `CASE WHEN NOT starts_with(${CANDIDATE_ID}, '${ERASED_ID}')
  THEN nullif(concat_ws(' ', n.body::json->>'candidate_fname', n.body::json->>'candidate_lname'), '') END`;
export const LOCATION_TIMEZONE = `n.body::json->>'location_timezone'`;

/** SQL: the start of an exam before the exam was moved, from the booking's previous notification to the partner. */
export const PREVIOUS_BOOKING_ON = `CASE n.change_reason WHEN 'BOOKING_RESCHEDULED' THEN (
    SELECT before.body::json->>'booking_on' FROM notifications before
    WHERE before.booking_code = n.booking_code AND before.subscription_id = n.subscription_id
      AND before.event_sequence < n.event_sequence
    ORDER BY before.event_sequence DESC LIMIT 1) END`;
const LISTED = `n.position, n.id, n.account_code,
  n.subscription_id, s.name AS subscription_name, ${ADDRESS}, ${CANDIDATE_ID} AS candidate_id,
  ${CANDIDATE_NAME} AS candidate_name, ${BOOKING_ON} AS booking_on,
  ${PREVIOUS_BOOKING_ON} AS previous_booking_on, ${LOCATION_TIMEZONE} AS location_timezone,
  n.change_reason, ${ABOUT}, n.event_sequence, n.effective_date, n.state, n.retry, n.failure,
  CASE n.state WHEN 'DELIVERED' THEN 200 ELSE n.http_status END AS http_status, n.created_datetime, n.delivered_datetime,
  CASE WHEN n.retry = 'AUTO' AND s.state = 'ACTIVE' AND s.delivery = 'PUSH' THEN coalesce(s.next_probe_at,
    CASE WHEN s.paused_from <= statement_timestamp() AND s.paused_until > statement_timestamp() THEN s.paused_until END)
  END AS next_attempt_at`;

const FIND_ONE = prepared(
  'notification-find',
  `SELECT ${LISTED}, n.body FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id
   WHERE n.id = $1 AND ($2::text[] IS NULL OR n.account_code = ANY ($2))
     AND ($3::uuid[] IS NULL OR n.subscription_id = ANY ($3))`,
);
const ATTEMPTS = prepared(
  'notification-attempts',
  `SELECT at, duration_ms, trigger, http_status, failure, reason, excerpt FROM notification_attempts
   WHERE notification_position = $1 ORDER BY at`,
);

/** Returns the columns by which the notifications in the error queue are grouped into causes. */
const causeOf = (of: string, reason: string): string[] => [
  `${of}.subscription_id`,
  `${of}.retry`,
  `coalesce(${of}.failure, '')`,
  `coalesce(${of}.${reason}, '')`,
  `coalesce(${of}.http_status, 0)`,
];
const OF_CAUSE = causeOf('cause', 'reason');
const OF_QUEUED = causeOf('n', 'failure_reason');
const row = (...columns: string[]): string => `(${columns.join(', ')})`;

/**
 * Selects `columns` of the first or last notifications of a cause, sorted by `last`. An index contains the columns of a
 * cause, followed by `last`.
 *
 * The condition only says where to start in the index; rows of other causes are dropped afterwards. If the condition
 * also limited the end of the range, PostgreSQL's planner would expect few rows. It could then choose a different
 * index, and sort up to a million rows.
 *
 * @param from a further bound on `last`
 */
function endOfCause(columns: string, last: string, direction: 'ASC' | 'DESC', most: number, from?: string): string {
  const after = direction === 'ASC' ? '>=' : '<=';
  const begin =
    from === undefined
      ? `${row(...OF_QUEUED)} ${after} ${row(...OF_CAUSE)}`
      : `${row(...OF_QUEUED, last)} ${after} ${row(...OF_CAUSE, from)}`;
  return `SELECT * FROM (
      SELECT ${columns}, ${row(...OF_QUEUED)} = ${row(...OF_CAUSE)} AS is_of_cause FROM notifications n
      WHERE ${begin} AND n.queued_datetime IS NOT NULL
      ORDER BY ${[...OF_QUEUED, last].map((column) => `${column} ${direction}`).join(', ')} LIMIT ${most}) first
    WHERE first.is_of_cause`;
}

/**
 * Selects the number of error-queue notifications for each cause. A trigger appends each change to this number as a
 * row.
 */
export const CAUSES = `SELECT subscription_id, retry, failure, reason, http_status, sum(change)::int AS count
  FROM error_queue_causes GROUP BY subscription_id, retry, failure, reason, http_status HAVING sum(change) > 0`;

export const NOW = `to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
/**
 * The number of notifications, sorted by their exam, that are read to find the next exam. Several are read, because an
 * exam may have been moved after its notification was queued.
 */
const SOON = 10;

/**
 * Selects the start of the next exam, and its time zone, among the bookings that an error-queue `cause` affects. The
 * newest event of each booking contains the start of its exam.
 */
export const NEXT_EXAM = `SELECT min(booking_on) AS at, (array_agg(zone ORDER BY booking_on))[1] AS zone FROM (${endOfCause('n.booking_code', BOOKING_ON, 'ASC', SOON, NOW)}) soon
  CROSS JOIN LATERAL (${lastNotified('soon.booking_code')}) notified WHERE booking_on >= ${NOW}`;

/** Selects the start of a booking's exam, and its time zone, from the newest event of the booking. */
export function lastNotified(bookingCode: string): string {
  return `SELECT ${BOOKING_ON} AS booking_on, ${LOCATION_TIMEZONE} AS zone FROM notifications n WHERE n.booking_code = ${bookingCode}
    ORDER BY n.position DESC LIMIT 1`;
}

const MADE_AT = 'n.created_datetime AS at';
/**
 * Selects the causes of failure in the error queue. $1: accounts, or null for all. For each cause, the oldest
 * notification, the newest notification and the next exam are read from an index.
 */
const SUMMARY = prepared(
  'error-queue-summary',
  `SELECT cause.*, s.account_code, s.name AS subscription_name, ${ADDRESS}, oldest.at AS oldest, newest.at AS newest,
     exam.at AS next_booking_on, exam.zone AS next_location_timezone
   FROM (${CAUSES}) cause
   JOIN subscriptions s ON s.id = cause.subscription_id AND ($1::text[] IS NULL OR s.account_code = ANY ($1))
   CROSS JOIN LATERAL (${endOfCause(MADE_AT, 'n.position', 'ASC', 1)}) oldest
   CROSS JOIN LATERAL (${endOfCause(MADE_AT, 'n.position', 'DESC', 1)}) newest
   CROSS JOIN LATERAL (${NEXT_EXAM}) exam
   ORDER BY cause.count DESC, s.position, cause.retry, cause.failure, cause.reason, cause.http_status`,
  acrossAccounts.boundAround,
);

/** The SQL condition for each state. The conditions for queued and for resolved notifications match partial indexes. */
const IN_STATE: Record<NotificationState, string> = {
  PENDING: `n.state = 'PENDING' AND (n.subscription_id, n.position) IN
    (SELECT d.subscription_id, d.notification_position FROM deliveries d)`,
  DELIVERED: `n.state = 'DELIVERED'`,
  ERROR_QUEUE: `n.queued_datetime IS NOT NULL`,
  RESOLVED: `n.resolved_datetime IS NOT NULL`,
};

/**
 * The SQL expression that sorts notifications by the start of their exam, in seconds since 1970. Notifications whose
 * exam has no known start are last.
 */
const EXAM_KEY = `coalesce(extract(epoch FROM b.booking_on), 253402300800)::bigint`;

type ListedRow = Omit<Notification, 'booking_code'> &
  Pick<
    NotificationModel,
    | 'booking_code'
    | 'svc_eligiblity_id'
    | 'subscription_name'
    | 'partner_url'
    | 'candidate_id'
    | 'candidate_name'
    | 'booking_on'
    | 'previous_booking_on'
    | 'location_timezone'
  > & {
    next_attempt_at: Date | null;
    page_key?: number;
  };

@Injectable()
export class NotificationReader {
  constructor(
    private readonly database: Database,
    private readonly bounds: FilterBounds,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns a page of notifications in the given order of their creation. The statement is not prepared, because its
   * best plan depends on the values.
   * @throws DomainError `account_not_found`, `account_forbidden`
   */
  async list(
    filter: NotificationConditions,
    state: NotificationState | undefined,
    page: Page,
    order: ListOrder = 'newest',
  ): Promise<ListedRow[]> {
    const [after, direction] = order === 'oldest' ? ['>', 'ASC'] : ['<', 'DESC'];
    const values: unknown[] = [page.take];
    const bounded = await this.bounds.of(filter, { parameter: 'account_code' });
    const conditions = conditionsOf(bounded.filter, values);
    if (state !== undefined) conditions.push(IN_STATE[state]);
    if (page.after !== null) {
      values.push(page.after);
      conditions.push(`n.position ${after} $${values.length}`);
    }
    const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
    // A subquery selects the positions of the page. Only the rows of the page are then read from the table, and an
    // index suffices to check a filter on the error queue.
    const text = `SELECT ${LISTED} FROM (SELECT n.position FROM notifications n ${where}
        ORDER BY n.position ${direction} LIMIT $1) page
      JOIN notifications n USING (position) JOIN subscriptions s ON s.id = n.subscription_id
      ORDER BY n.position ${direction}`;
    return this.database.query<ListedRow>({ text, across: acrossOf(bounded.filter) }, values);
  }

  /**
   * Returns a page of the undelivered notifications whose exam starts in the given period, the earliest exam first.
   * @throws DomainError `account_not_found`, `account_forbidden`
   */
  async listByExam(
    filter: NotificationConditions,
    examIn: ExamIn,
    state: NotificationState | undefined,
    page: Page,
  ): Promise<ListedRow[]> {
    const values: unknown[] = [page.take, this.clock.now(), page.afterKey ?? 0, page.after ?? 0];
    const bounded = await this.bounds.of(filter, { parameter: 'account_code' });
    const conditions = [
      `(${IN_STATE.ERROR_QUEUE} OR ${IN_STATE.PENDING})`,
      startsIn(examIn, 'b.booking_on', '$2'),
      `(${EXAM_KEY}, n.position) > ($3::bigint, $4::bigint)`,
      ...conditionsOf(bounded.filter, values),
    ];
    if (state !== undefined) conditions.push(IN_STATE[state]);
    const text = `SELECT ${LISTED}, page.page_key FROM (
        SELECT n.position, ${EXAM_KEY} AS page_key FROM notifications n LEFT JOIN bookings b ON b.booking_code = n.booking_code
        WHERE ${conditions.join(' AND ')} ORDER BY page_key, n.position LIMIT $1) page
      JOIN notifications n USING (position) JOIN subscriptions s ON s.id = n.subscription_id ORDER BY page.page_key, n.position`;
    return this.database.query<ListedRow>({ text, across: acrossOf(bounded.filter) }, values);
  }

  /**
   * Returns one notification with its attempts.
   * @throws DomainError `not_found`
   */
  async get(id: string): Promise<NotificationDetail> {
    const reach = [currentAllowedAccounts(), currentAllowedSubscriptions()];
    const row = isUuid(id) ? await this.database.queryOne<ListedRow>(FIND_ONE, [id, ...reach]) : null;
    if (row === null) throw notFound.error({ detail: 'There is no such notification.' });
    const attempts = await this.database.query<NotificationAttempt>(ATTEMPTS, [row.position]);
    return {
      ...presentNotification(row),
      body: JSON.parse(row.body) as object,
      attempts: attempts.map(({ at, duration_ms, trigger, http_status, failure, reason, excerpt }) => ({
        at: formatDateTime(at),
        duration_ms,
        trigger,
        http_status,
        failure,
        reason,
        excerpt,
      })),
    };
  }

  async summary(): Promise<CauseModel[]> {
    type Row = Omit<CauseModel, 'oldest' | 'newest'> & { oldest: Date; newest: Date };
    const rows = await this.database.query<Row>(SUMMARY, [currentAllowedAccounts()]);
    return rows.map((row) => ({
      subscription_id: row.subscription_id,
      account_code: row.account_code,
      subscription_name: row.subscription_name,
      partner_url: row.partner_url,
      failure: row.failure,
      reason: row.reason,
      http_status: row.http_status,
      retry: row.retry,
      count: row.count,
      oldest: formatDateTime(row.oldest),
      newest: formatDateTime(row.newest),
      next_booking_on: row.next_booking_on,
      next_location_timezone: row.next_location_timezone,
    }));
  }
}

export function presentNotification(row: ListedRow): NotificationModel {
  return {
    id: row.id,
    account_code: row.account_code,
    subscription_id: row.subscription_id,
    subscription_name: row.subscription_name,
    partner_url: row.partner_url,
    candidate_id: row.candidate_id,
    candidate_name: row.candidate_name,
    booking_on: row.booking_on,
    previous_booking_on: row.previous_booking_on,
    location_timezone: row.location_timezone,
    change_reason: row.change_reason,
    booking_code: row.booking_code,
    svc_eligiblity_id: row.svc_eligiblity_id,
    event_sequence: row.event_sequence,
    effective_date: formatDateTime(row.effective_date),
    state: row.state,
    retry: row.retry,
    failure: row.failure,
    http_status: row.http_status,
    next_attempt_at: formatOptionalDateTime(row.next_attempt_at),
    created_datetime: formatDateTime(row.created_datetime),
    delivered_datetime: formatOptionalDateTime(row.delivered_datetime),
  };
}
