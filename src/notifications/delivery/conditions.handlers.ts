import { X509Certificate } from 'node:crypto';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { FAILING_SINCE, firstFailure, newestSuccess } from '../subscriptions/partner-standing.js';
import {
  FindDeliveryStall,
  SurveyExamsSoon,
  SurveyPartnerSigns,
  type ExamsSoon,
  type PartnerSigns,
} from '../conditions.queries.js';
import { DeliveryInvariant } from './delivery-invariant.js';

/** The number of a partner's most recent failed requests among which its last failure is sought. */
const RECENT = 20;

/**
 * Selects the time of the last failure of a partner that is UP. A failed request does not count if it was repeated
 * within its attempt (as RENEWED), because an expired access token, or a kept connection that the partner had closed,
 * is not a failure of the partner. Failures before the partner became UP do not count either.
 */
const LAST_FAILURE = `SELECT max(bad.at) AS at FROM (
       SELECT a.at, a.trigger, a.notification_position FROM notification_attempts a
       WHERE a.subscription_id = s.id AND a.failure IS NOT NULL ORDER BY a.at DESC LIMIT ${RECENT}) bad
     WHERE bad.at > coalesce(s.health_changed_at, '-infinity') AND (
       SELECT r.trigger FROM notification_attempts r
       WHERE r.notification_position = bad.notification_position
         AND (r.at > bad.at OR r.at = bad.at AND r.trigger = 'RENEWED' AND bad.trigger <> 'RENEWED')
       ORDER BY r.at, r.trigger = 'RENEWED' LIMIT 1) IS DISTINCT FROM 'RENEWED'`;
/**
 * SQL: the time at which a series of consecutive failures began. `failure` is the time of the last failure in the
 * series. If `failure` is null, the result is null. Failures before the time `after` do not count.
 */
const beginning = (failure: string, after: string) =>
  `CASE WHEN ${failure} IS NOT NULL THEN ${firstFailure(`greatest(${newestSuccess(`a.at < ${failure}`)}, ${after})`)} END`;

const SIGNS = prepared(
  'partners-signs',
  `SELECT s.id AS subscription_id, s.account_code, s.name AS subscription_name, s.partner_url,
     CASE WHEN s.delivery = 'PUSH' THEN s.certificate_not_after END AS certificate_not_after,
     CASE WHEN s.delivery = 'PUSH' THEN s.client_cert_pem END AS client_cert_pem,
     CASE WHEN s.state = 'ACTIVE' AND s.health = 'DOWN' THEN coalesce(s.health_changed_at, statement_timestamp()) END
       AS down_since,
     CASE WHEN s.state = 'ACTIVE' THEN recent.failing_since END AS failing_since,
     ended.failed_since, ended.recovered_at, ended.was_down_since, ended.was_down_until
   FROM subscriptions s
   ${FAILING_SINCE}
   LEFT JOIN LATERAL (
     SELECT s.health_changed_at AS was_down_until, coalesce(down.since, s.health_changed_at) AS was_down_since,
       CASE WHEN recent.failing_since IS NULL THEN coalesce(
         (SELECT min(a.at) FROM notification_attempts a
          WHERE a.subscription_id = s.id AND a.failure IS NULL AND a.at > failure.at), s.health_changed_at) END AS recovered_at,
       CASE WHEN recent.failing_since IS NULL
         THEN coalesce(${beginning('failure.at', 's.health_changed_at')}, down.since, s.health_changed_at) END AS failed_since
     FROM (${LAST_FAILURE}) failure, (
       SELECT ${beginning('last.at', 'NULL')} AS since FROM (
         SELECT max(a.at) AS at FROM notification_attempts a
         WHERE a.subscription_id = s.id AND a.failure IS NOT NULL AND a.at < s.health_changed_at) last) down
   ) ended ON s.state = 'ACTIVE' AND s.health = 'UP'
   WHERE s.state <> 'UNVERIFIED' AND s.deleted_datetime IS NULL`,
  acrossAccounts.workers,
);

@QueryHandler(SurveyPartnerSigns)
export class SurveyPartnerSignsHandler implements IQueryHandler<SurveyPartnerSigns> {
  constructor(private readonly database: Database) {}

  async execute(): Promise<readonly PartnerSigns[]> {
    const rows = await this.database.query<Signs>(SIGNS);
    return rows.map(({ client_cert_pem, ...signs }) => ({
      ...signs,
      client_certificate_not_after: client_cert_pem === null ? null : expiryOf(client_cert_pem),
    }));
  }
}

type Signs = Omit<PartnerSigns, 'client_certificate_not_after'> & { client_cert_pem: string | null };

/** Returns the expiry of the first certificate in a PEM text. The first certificate is the client's own. */
function expiryOf(pem: string): Date {
  return new Date(new X509Certificate(pem).validTo);
}

/**
 * Counts the undelivered notifications about exams that start soon, by partner. $1: the maximum number of hours until
 * the exam. A pending notification counts only after a minute, because a healthy partner gets a new notification within
 * this time.
 */
const EXAMS_SOON = prepared(
  'partners-exams-soon',
  `WITH undelivered AS (
     SELECT account_code, subscription_id, booking_code, created_datetime FROM notifications WHERE queued_datetime IS NOT NULL
     UNION ALL
     SELECT n.account_code, n.subscription_id, n.booking_code, n.created_datetime
     FROM deliveries d JOIN notifications n ON n.position = d.notification_position
     WHERE n.state = 'PENDING' AND n.created_datetime < statement_timestamp() - interval '1 minute'),
   soon AS (
     SELECT u.subscription_id, count(*)::int AS count, min(u.created_datetime) AS oldest,
       min(b.booking_on) AS first_exam_at, max(b.booking_on) AS last_exam_at
     FROM undelivered u JOIN bookings b USING (booking_code)
     WHERE b.booking_on >= statement_timestamp() AND b.booking_on <= statement_timestamp() + make_interval(hours => $1)
     GROUP BY 1)
   SELECT s.id AS subscription_id, s.account_code, s.name AS subscription_name, s.partner_url,
     soon.count, soon.oldest, soon.first_exam_at, soon.last_exam_at
   FROM soon JOIN subscriptions s ON s.id = soon.subscription_id WHERE s.deleted_datetime IS NULL`,
  acrossAccounts.workers,
);

@QueryHandler(SurveyExamsSoon)
export class SurveyExamsSoonHandler implements IQueryHandler<SurveyExamsSoon> {
  constructor(private readonly database: Database) {}

  execute({ hours }: SurveyExamsSoon): Promise<readonly ExamsSoon[]> {
    return this.database.query<ExamsSoon>(EXAMS_SOON, [hours]);
  }
}

@QueryHandler(FindDeliveryStall)
export class FindDeliveryStallHandler implements IQueryHandler<FindDeliveryStall> {
  constructor(private readonly invariant: DeliveryInvariant) {}

  execute(): Promise<Date | null> {
    return this.invariant.stalledSince();
  }
}
