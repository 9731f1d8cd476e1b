import { Injectable } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { formatDateTime, formatOptionalDateTime } from '../../platform/clock.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { Field, ObjectListField } from '../../platform/validation/fields.js';
import { uuidRule } from '../../platform/validation/identifiers.js';
import { dateTime } from '../../platform/validation/rules.js';
import type { Subscription } from '../subscriptions/subscription.entity.js';
import { CAUSES, lastNotified, NEXT_EXAM, NOW } from './notification-reader.js';
import { count } from './notifications.dto.js';
import { lastHours } from './partner-reader.js';

const HOURS = 7 * 24;
/** The maximum number of pending notifications, oldest first, whose bookings are read to find the next exam. */
const MOST_PENDING = 10_000;

class AttemptHour {
  @Field(dateTime(), { required: true })
  from: string;

  @Field(count, { required: true })
  delivered: number;

  @ApiProperty({
    type: 'object',
    additionalProperties: count.schema,
    description: 'How many failed, by failure class.',
  })
  failed: Record<string, number>;

  @Field(count, {
    always: true,
    description: 'Median duration of an attempt, in milliseconds; null if there was no attempt.',
  })
  p50_ms: number | null;

  @Field(count, { always: true })
  p95_ms: number | null;
}

export class SubscriptionStatistics {
  @Field(uuidRule, { required: true })
  subscription_id: string;

  @ObjectListField(() => AttemptHour, HOURS, {
    required: true,
    description: 'Every hour of the last seven days, the oldest first.',
  })
  hours: AttemptHour[];

  @Field(dateTime(), { always: true, description: 'Creation time of the oldest undelivered notification.' })
  oldest_undelivered: string | null;

  @Field(count, { required: true, description: 'Number of bookings with undelivered notifications.' })
  bookings_waiting: number;

  @Field(dateTime(), { always: true, description: 'The next exam start among those bookings.' })
  next_booking_on: string | null;

  @Field(dateTime(), { always: true, description: 'Expiry time of the certificate that the partner last used.' })
  certificate_not_after: string | null;
}

/** Counts the attempts to a partner by hour, with a single range scan of a covering index. $1: the subscription. */
const ATTEMPTS = prepared(
  'statistics-attempts',
  `WITH ${lastHours(HOURS)},
   attempt AS MATERIALIZED (
     SELECT date_trunc('hour', at, 'UTC') AS "from", duration_ms, failure FROM notification_attempts
     WHERE subscription_id = $1 AND at >= (SELECT min("from") FROM hour)),
   took AS (
     SELECT "from", count(*) FILTER (WHERE failure IS NULL) AS delivered,
       percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY duration_ms) AS ms
     FROM attempt GROUP BY "from"),
   failed AS (
     SELECT "from", json_object_agg(failure, count) AS failed
     FROM (SELECT "from", failure, count(*) AS count FROM attempt WHERE failure IS NOT NULL GROUP BY "from", failure) class
     GROUP BY "from")
   SELECT "from", coalesce(delivered, 0)::int AS delivered, coalesce(failed, '{}') AS failed, ms[1] AS p50_ms, ms[2] AS p95_ms
   FROM hour LEFT JOIN took USING ("from") LEFT JOIN failed USING ("from") ORDER BY "from"`,
);

/** Counts the undelivered notifications to a partner. $1: the subscription. */
const UNDELIVERED = prepared(
  'statistics-undelivered',
  `SELECT
     least(
       (SELECT n.created_datetime FROM notifications n WHERE n.subscription_id = $1 AND n.queued_datetime IS NOT NULL
        ORDER BY n.position LIMIT 1),
       (SELECT n.created_datetime FROM deliveries d JOIN notifications n ON n.position = d.notification_position
        WHERE d.subscription_id = $1 AND d.trigger <> 'REPLAY' ORDER BY d.notification_position LIMIT 1)
     ) AS oldest_undelivered,
     (SELECT count(*)::int FROM (
        SELECT booking_code FROM notifications WHERE subscription_id = $1 AND queued_datetime IS NOT NULL
        UNION
        SELECT booking_code FROM deliveries WHERE subscription_id = $1 AND trigger <> 'REPLAY') waiting
      -- For a change of a record, booking_code has the id of the record, whose events are numbered in event_streams.
      WHERE NOT EXISTS (SELECT FROM event_streams record WHERE record.stream = waiting.booking_code)) AS bookings_waiting,
     least(
       (SELECT min(exam.at) FROM (SELECT * FROM (${CAUSES}) all_causes WHERE subscription_id = $1) cause
        CROSS JOIN LATERAL (${NEXT_EXAM}) exam),
       (SELECT min(notified.booking_on) FROM (
          SELECT booking_code FROM deliveries WHERE subscription_id = $1 AND trigger IN ('FIRST', 'MANUAL')
          ORDER BY notification_position LIMIT ${MOST_PENDING}) pending
        CROSS JOIN LATERAL (${lastNotified('pending.booking_code')}) notified WHERE notified.booking_on >= ${NOW})
     ) AS next_booking_on`,
  acrossAccounts.boundAround,
);

interface Undelivered {
  oldest_undelivered: Date | null;
  bookings_waiting: number;
  next_booking_on: string | null;
}

/** Reads the statistics of a subscription. */
@Injectable()
export class StatisticsReader {
  constructor(private readonly database: Database) {}

  async of({ id, certificate_not_after }: Subscription): Promise<SubscriptionStatistics> {
    const [hours, undelivered] = await Promise.all([
      this.database.query<Omit<AttemptHour, 'from'> & { from: Date }>(ATTEMPTS, [id]),
      this.database.queryOne<Undelivered>(UNDELIVERED, [id]),
    ]);
    const { oldest_undelivered, bookings_waiting, next_booking_on } = undelivered!;
    return {
      subscription_id: id,
      hours: hours.map((hour) => ({ ...hour, from: formatDateTime(hour.from) })),
      oldest_undelivered: formatOptionalDateTime(oldest_undelivered),
      bookings_waiting,
      next_booking_on,
      certificate_not_after: formatOptionalDateTime(certificate_not_after),
    };
  }
}
