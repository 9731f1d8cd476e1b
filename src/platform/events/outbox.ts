import { Injectable } from '@nestjs/common';
import { EventBus } from '@nestjs/cqrs';
import { acrossAccounts, Database, hasLapsed, MACHINE_TIME, prepared, unestimated } from '../database/database.js';
import { currentSpan } from '../context/current-span.js';
import { tracing } from '../observability/tracing.js';
import { knownNames, reviveEvent, storedName, type DomainEvent } from './domain-event.js';

/** Attributes of tracing spans, named by OpenTelemetry's conventions for messaging. */
const OUTBOX = { 'messaging.system': 'outbox', 'messaging.operation.type': 'send' };
/**
 * The time, in seconds, for which an event is left to the process that committed it. If the event is not settled
 * (processed) by then, a sweep publishes it again.
 */
const CLAIM_SECONDS = 5;
const SWEEP_BATCH = 500;

/** The SQL expression for the time until which an event is left to the process that committed it. */
export const CLAIM_END = `${MACHINE_TIME} + make_interval(secs => ${CLAIM_SECONDS})`;
/** The SQL list of the columns of an event. {@link Outbox.publishStored} accepts rows with these columns. */
export const EVENT_COLUMNS = 'event_id, name, account_code, stream, sequence, data, occurred_at, traceparent';

/** The SQL that inserts events into the outbox. {@link eventValues} returns its parameters. */
export const INSERT_EVENTS = `
  INSERT INTO domain_events (${EVENT_COLUMNS}, claimed_until)
  SELECT ${EVENT_COLUMNS}, ${CLAIM_END}
  FROM unnest(${unestimated('$1::uuid[]')}, $2::text[], $3::text[], $4::text[], $5::int[], $6::json[], $7::timestamptz[], $8::text[])
    AS event (${EVENT_COLUMNS})`;

export function eventValues(events: readonly DomainEvent[]): unknown[] {
  return [
    events.map((event) => event.meta.eventId),
    events.map(storedName),
    events.map((event) => event.meta.accountCode),
    events.map((event) => event.meta.stream),
    events.map((event) => event.meta.sequence),
    events.map((event) => JSON.stringify(event.data)),
    events.map((event) => event.meta.occurredAt),
    events.map((event) => event.meta.traceparent),
  ];
}

const CLAIM_LEFT_OVER = prepared(
  'outbox-claim-left-over',
  `UPDATE domain_events SET claimed_until = ${CLAIM_END}
   WHERE event_id IN (
     SELECT event_id FROM domain_events
     WHERE settled_at IS NULL AND set_aside_at IS NULL AND ${hasLapsed('claimed_until', CLAIM_SECONDS)} AND name = ANY ($1::text[])
     ORDER BY claimed_until LIMIT ${SWEEP_BATCH} FOR UPDATE SKIP LOCKED)
   RETURNING ${EVENT_COLUMNS}`,
  acrossAccounts.relay,
);

const UNSETTLED = prepared(
  'outbox-unsettled',
  `SELECT event_id, sequence FROM domain_events
   WHERE stream = $1 AND sequence <= $2 AND name = ANY ($3::text[]) AND settled_at IS NULL AND set_aside_at IS NULL
   ORDER BY sequence`,
  acrossAccounts.relay,
);
const SET_ASIDE = prepared(
  'outbox-set-aside',
  `UPDATE domain_events SET set_aside_at = statement_timestamp() WHERE event_id = $1 AND settled_at IS NULL`,
  acrossAccounts.relay,
);

/** An event as the outbox stores it. In a row that PostgreSQL returns as JSON, `occurred_at` is a string. */
export interface EventRow {
  event_id: string;
  name: string;
  account_code: string;
  stream: string;
  sequence: number;
  data: object;
  occurred_at: Date | string;
  traceparent: string | null;
}

/**
 * The transactional outbox.
 *
 * 1. The unit of work inserts the events inside the business transaction, so they are committed together with the
 *    change.
 * 2. After COMMIT, the unit of work calls `publish`. The in-process event bus is the fast path, and may lose events.
 * 3. The consumer settles the event (`settled_at`) in the transaction that does its work.
 * 4. `sweep` republishes events that were not settled within {@link CLAIM_SECONDS}, because a process crashed, the
 *    event bus lost the event, or a consumer failed. If this release has no event class for a stored name, the event is
 *    left to a process of a release that has the class.
 * 5. An event that its consumer cannot settle is set aside with an alarm: it is kept, and delays no other event.
 *
 * The consumer therefore receives each event at least once. Never rely on the event bus: only the table is reliable.
 */
@Injectable()
export class Outbox {
  constructor(
    private readonly database: Database,
    private readonly eventBus: EventBus,
  ) {}

  publish(events: readonly DomainEvent[]): void {
    for (const event of events) {
      const span = tracing?.begin(`publish ${storedName(event)}`, 'PRODUCER', OUTBOX, event.meta.traceparent);
      if (!span) this.eventBus.publish(event);
      else {
        currentSpan.run(span, () => void this.eventBus.publish(event));
        span.end();
      }
    }
  }

  /** Publishes unsettled events of the outbox again, oldest first; returns the number of events. */
  async sweep(): Promise<number> {
    const rows = await this.database.query<EventRow>(CLAIM_LEFT_OVER, [knownNames()]);
    this.publishStored(rows);
    return rows.length;
  }

  /** Publishes events that a statement has written to the outbox or read from it, oldest first. */
  publishStored(rows: readonly EventRow[]): void {
    const events = rows.map((row) =>
      reviveEvent(row.name, row.data, {
        eventId: row.event_id,
        accountCode: row.account_code,
        stream: row.stream,
        sequence: row.sequence,
        occurredAt: new Date(row.occurred_at),
        traceparent: row.traceparent,
      }),
    );
    const time = ({ meta }: DomainEvent) => meta.occurredAt.getTime();
    this.publish(events.sort((a, b) => time(a) - time(b) || a.meta.sequence - b.meta.sequence));
  }

  /**
   * Returns the unsettled events of one record (`stream`) that have one of the given names, up to a sequence number,
   * oldest first.
   */
  unsettled(stream: string, upTo: number, names: readonly string[]): Promise<{ event_id: string; sequence: number }[]> {
    return this.database.query(UNSETTLED, [stream, upTo, names]);
  }

  async setAside(eventId: string): Promise<void> {
    await this.database.execute(SET_ASIDE, [eventId]);
  }
}
