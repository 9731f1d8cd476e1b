import { X509Certificate } from 'node:crypto';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import {
  FindDeliveryStall,
  SurveyExamsSoon,
  SurveyPartnerSigns,
  type ExamsSoon,
  type PartnerSigns,
} from '../conditions.queries.js';
import { DeliveryInvariant } from './delivery-invariant.js';

/** The number of newest attempts of the last day that show whether a partner fails. */
const RECENT = 20;

/**
 * Attempts before the partner's health changed to UP do not count, because a sample that the partner accepted makes it
 * UP without an attempt. A failed request that was repeated within its attempt (RENEWED) does not count either: an
 * expired access token, or a kept connection that the partner had closed, is not a failure of the partner.
 */
const SIGNS = prepared(
  'partners-signs',
  `SELECT s.id AS subscription_id, s.account_code, s.name AS subscription_name, s.partner_url,
     s.certificate_not_after, s.client_cert_pem,
     CASE WHEN s.state = 'ACTIVE' AND s.health = 'DOWN' THEN coalesce(s.health_changed_at, statement_timestamp()) END
       AS down_since,
     CASE WHEN s.state = 'ACTIVE' AND seen.last_bad > coalesce(seen.last_ok, '-infinity') THEN seen.failing_since END
       AS failing_since,
     CASE WHEN s.state = 'ACTIVE' AND s.health = 'UP' AND coalesce(seen.last_ok > seen.last_bad, seen.last_bad IS NULL)
       THEN coalesce(seen.recovered_at, s.health_changed_at) END AS recovered_at
   FROM subscriptions s
   CROSS JOIN LATERAL (
     SELECT ends.last_ok, ends.last_bad,
       (SELECT min(r.at) FROM unnest(ends.bad) AS r (at) WHERE r.at > coalesce(ends.last_ok, '-infinity')) AS failing_since,
       (SELECT min(r.at) FROM unnest(ends.ok) AS r (at) WHERE r.at > ends.last_bad) AS recovered_at
     FROM (
       SELECT max(recent.at) FILTER (WHERE recent.failure IS NULL) AS last_ok,
         max(recent.at) FILTER (WHERE recent.failure IS NOT NULL) AS last_bad,
         array_agg(recent.at) FILTER (WHERE recent.failure IS NULL) AS ok,
         array_agg(recent.at) FILTER (WHERE recent.failure IS NOT NULL) AS bad
       FROM (
         SELECT at, failure, lead(trigger) OVER (
           PARTITION BY notification_position ORDER BY at, trigger = 'RENEWED') AS next_trigger
         FROM (
           SELECT a.at, a.failure, a.trigger, a.notification_position FROM notification_attempts a
           WHERE a.subscription_id = s.id
             AND a.at >= greatest(statement_timestamp() - interval '24 hours',
               CASE WHEN s.health = 'UP' THEN s.health_changed_at END)
           ORDER BY a.at DESC LIMIT ${RECENT}) newest) recent
       WHERE recent.failure IS NULL OR recent.next_trigger IS DISTINCT FROM 'RENEWED') ends) seen
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

/** Returns the expiry of the first certificate in a PEM text, which is the client's own. */
function expiryOf(pem: string): Date {
  return new Date(new X509Certificate(pem).validTo);
}

/**
 * Counts undelivered notifications by partner. $1: the number of hours until the exam. A pending notification counts
 * after a minute, because a new notification to a healthy partner is delivered within this time.
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
