import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import {
  Absent,
  BookingCancelled,
  BookingCreated,
  BookingRescheduled,
  ExamCompleted,
  ExcusedAbsent,
  type BookingEvent,
} from '../../bookings/bookings.events.js';
import { Config } from '../../config.js';
import { Database, prepared, opaque } from '../../platform/database/database.js';
import { storedName } from '../../platform/events/domain-event.js';
import { Logger } from '../../platform/observability/logger.js';
import { DeliveryLoop } from './delivery-loop.js';
import { CLAIMED, LEASE, LEASE_END, type Claimed } from './delivery-statements.js';
import { DeliverySignals } from '../delivery-signals.js';
import { RacePoints } from '../race-points.js';
import { TranslateBookingEvents } from '../notifications.commands.js';

const EVENTS = [BookingCreated, BookingCancelled, BookingRescheduled, ExamCompleted, ExcusedAbsent, Absent].map(
  (eventClass): BookingEvent => new eventClass(undefined as never, undefined as never),
);
const NAMES = EVENTS.map(storedName);
const REASONS = EVENTS.map((event) => event.changeReason);

const UTC_SECOND = `'YYYY-MM-DD"T"HH24:MI:SS"Z"'`;
const AT_SITE = (member: string) =>
  `CASE due.data->>'delivery_mode' WHEN 'SITE_PROCTORED' THEN due.data->'${member}' END`;

/** The specification's NotificationRequest; members without a value are left out. Frozen here, sent as it stands. */
const BODY = `json_strip_nulls(json_build_object(
  'booking_code', due.data->'booking_code',
  'booking_on', due.data->'booking_on',
  'candidate_fname', due.data->'candidate_fname',
  'candidate_id', due.data->'candidate_id',
  'candidate_lname', due.data->'candidate_lname',
  'candidate_mname', due.data->'candidate_mname',
  'change_reason', kind.change_reason,
  'client_eligibility_id', due.data->'client_eligibility_id',
  'delivery_mode', due.data->'delivery_mode',
  'effective_date', to_char(due.occurred_at AT TIME ZONE 'UTC', ${UTC_SECOND}),
  'exam_code', due.data->'exam_code',
  'exam_portions', nullif(due.data->'exam_portions', '[]'),
  'location_address', ${AT_SITE('location_address')},
  'location_code', ${AT_SITE('location_code')},
  'location_name', ${AT_SITE('location_name')},
  'location_timezone', CASE WHEN due.data->>'delivery_mode' IS NOT NULL THEN due.data->'location_timezone' END
))::text`;

/**
 * $1 bookings, $2 up to which event of each, $3 stored names, $4 their change reasons, $5 partners that this process can
 * send to at once, $6 the default wait time. The one statement is the transaction:
 *
 * 1. The unsettled events are locked in the order of their bookings and sequences: two processes that meet wait for one
 *    another, and the second finds them settled.
 * 2. Each subscription that listens gets one notification of each event; those of a partner that is DOWN are born into
 *    the error queue, to be retried.
 * 3. Each notification gets its obligation (delivery-statements.ts), and the events are settled.
 * 4. The first event of a booking has none before it, so that its obligation can be born claimed. Never claim a later one
 *    here: the one before it may be made at this moment by another process, unseen.
 *
 * The body is built where the event is, so that a booking's event can be sent after one round trip.
 */
const TRANSLATE = prepared(
  'notifications-translate',
  `WITH due AS MATERIALIZED (
     SELECT e.* FROM unnest(${opaque('$1::text[]')}, $2::int[]) AS wanted (stream, up_to)
     JOIN domain_events e ON e.stream = wanted.stream AND e.sequence <= wanted.up_to
     WHERE e.settled_at IS NULL AND e.name = ANY (${opaque('$3::text[]')}::text[])
     ORDER BY e.stream, e.sequence FOR UPDATE OF e),
   settled AS (
     UPDATE domain_events e SET settled_at = clock_timestamp() FROM due WHERE e.event_id = due.event_id),
   partner AS MATERIALIZED (
     SELECT s.id, s.account_code, s.change_reasons, s.version, s.health, s.health_changed_at,
       coalesce(s.wait_ms, $6::int) AS wait_ms,
       s.id = ANY ($5::uuid[]) AND s.state = 'ACTIVE' AND s.health = 'UP' AS at_once
     FROM subscriptions s
     WHERE s.account_code IN (SELECT account_code FROM due) AND s.deleted_datetime IS NULL AND s.state <> 'UNVERIFIED'),
   made AS (
     INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
       effective_date, traceparent, body, state, retry, queued_datetime)
     SELECT due.event_id, s.id, due.account_code, kind.change_reason, due.stream, due.sequence,
       due.occurred_at, due.traceparent, ${BODY},
       CASE s.health WHEN 'UP' THEN 'PENDING' ELSE 'ERROR_QUEUE' END,
       CASE s.health WHEN 'DOWN' THEN 'AUTO' END,
       CASE s.health WHEN 'DOWN' THEN clock_timestamp() END
     FROM due JOIN unnest(${opaque('$3::text[]')}, $4::text[]) AS kind (name, change_reason) ON kind.name = due.name
     JOIN partner s ON s.account_code = due.account_code AND kind.change_reason = ANY (s.change_reasons)
     ORDER BY due.occurred_at, due.stream, due.sequence
     ON CONFLICT ON CONSTRAINT notifications_event_key DO NOTHING
     RETURNING *),
   ${LEASE},
   owed AS (
     INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger, lease_token,
       leased_until)
     SELECT n.subscription_id, n.position, n.booking_code, n.event_sequence, coalesce(n.retry, 'FIRST'), lease.token,
       CASE WHEN lease.token IS NOT NULL THEN ${LEASE_END} END
     FROM made n JOIN partner s ON s.id = n.subscription_id LEFT JOIN lease ON s.at_once AND n.event_sequence = 1
     RETURNING *)
   SELECT ${CLAIMED} FROM owed d JOIN made n ON n.position = d.notification_position JOIN partner s ON s.id = d.subscription_id`,
);

/** A new notification; its lease is null when it was not claimed. */
type Made = Omit<Claimed, 'lease_token'> & { lease_token: number | null };

function isClaimed(made: Made): made is Claimed {
  return made.lease_token !== null;
}

/** Commands that come while a translation runs go together with the next one. */
@CommandHandler(TranslateBookingEvents)
export class TranslateBookingEventsHandler implements ICommandHandler<TranslateBookingEvents> {
  private waiting = new Map<string, number>();
  private next: Promise<void> | null = null;
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly config: Config,
    private readonly signals: DeliverySignals,
    private readonly loop: DeliveryLoop,
    private readonly races: RacePoints,
  ) {}

  async execute({ bookingCode, upTo }: TranslateBookingEvents): Promise<void> {
    this.waiting.set(bookingCode, Math.max(upTo, this.waiting.get(bookingCode) ?? 0));
    this.next ??= this.running = this.running.then(() => this.translateWaiting());
    await this.next;
  }

  private async translateWaiting(): Promise<void> {
    const bookings = this.waiting;
    this.waiting = new Map();
    this.next = null;
    try {
      await this.races.reached('translating');
      const claimedAt = performance.now();
      const made = await this.database.query<Made>(TRANSLATE, [
        [...bookings.keys()],
        [...bookings.values()],
        NAMES,
        REASONS,
        this.loop.readyFor(bookings.size),
        this.config.notificationWaitMs,
      ]);
      await this.races.reached('translated');
      await this.loop.take(made.filter(isClaimed), claimedAt);
      await this.signals.due([...new Set(made.filter((row) => !isClaimed(row)).map((row) => row.subscription_id))]);
    } catch (error) {
      // Unsettled events are published again by the sweep.
      this.logger.warn({ err: error, bookings: bookings.size }, 'events could not be translated yet');
    }
  }
}
