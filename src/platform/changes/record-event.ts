import { DomainEvent } from '../events/domain-event.js';
import { CLAIM_END, EVENT_COLUMNS } from '../events/outbox.js';
import { RECORD_CHANGES, type RecordChangeName } from './change.entity.js';
import { insertChangesOf, type RecordChange } from './change-log.js';

/**
 * The entry of the change feed, as partners receive it, except that the `id` is the entry's position before its
 * encryption.
 */
export type ChangeEntry = Omit<RecordChange, 'account_code'> & { readonly id: string };

/**
 * An event about an eligibility record or about its result. The event's stream is the `svc_eligiblity_id`,
 * `meta.sequence` is the `event-sequence`, and `meta.occurredAt` is the `at` of the change feed's entry.
 */
export abstract class RecordEvent extends DomainEvent<ChangeEntry> {}

/** The class of the events about one kind of change. A command raises such an event by recording the change. */
export interface RecordEventClass {
  new (...parameters: ConstructorParameters<typeof DomainEvent<ChangeEntry>>): RecordEvent;
  readonly change: RecordChangeName;
}

/**
 * Returns the name under which the events of a change are stored; the SQL expression {@link STORED_NAME} returns the
 * same name.
 */
export function recordEventName(change: RecordChangeName): string {
  return `record.${change.toLowerCase().replaceAll('_', '-')}`;
}
const STORED_NAME = `'record.' || replace(lower(change), '_', '-')`;

/** The stored names of all events of records. */
export const RECORD_EVENT_NAMES = RECORD_CHANGES.map(recordEventName);

/**
 * The SQL expression for an event's id. The id begins with the time at which the event is stored, as the ids of other
 * events do (RFC 9562 §5.8, version 8).
 */
const HASH = `encode(sha256(convert_to(concat_ws(' ', stream, sequence, generation, xid, position), 'UTF8')), 'hex')`;
const EVENT_ID = `overlay(overlay(
  lpad(to_hex((extract(epoch FROM statement_timestamp()) * 1000)::bigint), 12, '0') || left(${HASH}, 20)
  PLACING '8' FROM 13) PLACING 'a' FROM 17)::uuid`;

/**
 * The SQL expression for the time at which an event of a record was stored. The time of the change, `occurred_at`, may
 * be much earlier: an eligibility record expires when its eligibility window ends, but the sweep that expires it runs
 * later.
 */
export const RECORD_EVENT_STORED_AT = `to_timestamp(
  ('x' || left(replace(event_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)`;

/** The SQL expression for a {@link ChangeEntry}; its members have the order of the change feed's entries. */
const ENTRY = `(SELECT row_to_json(entry) FROM (
  SELECT concat_ws(' ', 'change', generation, xid, position) AS id, kind, change,
    to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS at, svc_eligiblity_id, candidate_id, test_code,
    booking_code, status, revision, NULL::json AS notification, NULL::int AS event_sequence) entry)`;

const FIRST = '1 AS number, 1 AS numbers';
const NUMBERED = `row_number() OVER (PARTITION BY svc_eligiblity_id ORDER BY position) AS number,
      count(*) OVER (PARTITION BY svc_eligiblity_id) AS numbers`;
const CONTINUED = `ON CONFLICT ON CONSTRAINT event_streams_pk
      DO UPDATE SET sequence = event_streams.sequence + excluded.sequence`;

/** Returns the SQL condition that no subscription of the account receives changes to the account's records. */
export const nobodyListens = (account: string): string =>
  `NOT EXISTS (SELECT FROM event_listeners l WHERE l.account_code = ${account} OFFSET 0)`;

/**
 * Returns the common table expressions that append rows to the change feed (change-log.ts), and raise events for the
 * changes that a subscription has selected.
 *
 * 1. `changed` appends the rows. If no subscription of the account listens for changes, nothing else is written.
 * 2. `counted` numbers the changes to each eligibility record, including changes that no listener has selected. The
 *    transaction holds a lock on the record, so that the numbers follow the order of the record's changes in all
 *    processes.
 * 3. `told` writes the selected changes to the outbox. The statement looks for listeners in its own snapshot, so it
 *    sees every listener that was committed before the change.
 *
 * `counted` and `told` take time even if there is no listener. For accounts to which {@link nobodyListens} applies, a
 * statement may therefore use `insertChangesOf` alone.
 *
 * test/proof/model/records contains a formal model of this protocol. Before you change the protocol, change the model.
 *
 * @param rows SQL that selects the rows, as for `insertChangesOf`
 * @param traceparent SQL for the trace context of a row of the `numbered` subquery
 * @param isFirst whether each row is the first change to its record, which needs no numbering
 */
export const tellingChanges = (rows: string, traceparent: string, isFirst = false): string => `
  changed AS (${insertChangesOf(rows)}
    RETURNING generation, xid, position, at, kind, change, account_code, svc_eligiblity_id, candidate_id, test_code,
      booking_code, status, revision),
  heard AS MATERIALIZED (
    SELECT changed.*, ${isFirst ? FIRST : NUMBERED}
    FROM changed
    WHERE change = ANY ('{${RECORD_CHANGES.join(',')}}')
      AND EXISTS (SELECT FROM event_listeners l WHERE l.account_code = changed.account_code OFFSET 0)),
  counted AS (
    INSERT INTO event_streams (stream, sequence) SELECT svc_eligiblity_id, numbers FROM heard WHERE number = 1
    ${isFirst ? '' : CONTINUED}
    RETURNING stream, sequence),
  told AS (
    INSERT INTO domain_events (${EVENT_COLUMNS}, claimed_until)
    SELECT ${EVENT_ID}, ${STORED_NAME}, account_code, stream, sequence, ${ENTRY}, date_trunc('second', at),
      ${traceparent}, ${CLAIM_END}
    FROM (
      SELECT heard.*, heard.svc_eligiblity_id AS stream, (counted.sequence - heard.numbers + heard.number)::int AS sequence
      FROM heard JOIN counted ON counted.stream = heard.svc_eligiblity_id
      WHERE EXISTS (
        SELECT FROM event_listeners l WHERE l.account_code = heard.account_code AND heard.change = ANY (l.changes))) numbered
    RETURNING ${EVENT_COLUMNS})`;
