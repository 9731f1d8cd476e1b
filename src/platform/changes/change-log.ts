import type { Change, ChangeKind } from './change.entity.js';

/** A change to a record, from which an entry of the change feed is built. */
export interface RecordChange {
  readonly kind: ChangeKind;
  readonly change: Change;
  readonly at: Date;
  readonly account_code: string;
  readonly svc_eligiblity_id: string;
  readonly candidate_id: string;
  readonly test_code: string;
  /** The status of the eligibility record after the change. */
  readonly status: string;
  readonly booking_code?: string | null;
  readonly revision?: number | null;
  /**
   * The NotificationRequest for partners and its sequence number within the booking; absent if no partner is notified.
   */
  readonly notification?: object | null;
  readonly event_sequence?: number | null;
}

const ROW = `at timestamptz, kind text, change text, account_code text, svc_eligiblity_id text, candidate_id text,
  test_code text, booking_code text, status text, revision int, event_sequence int, notification json`;
const COLUMNS = ROW.replaceAll(/(\w+) \w+/g, '$1');

/**
 * The SQL expression for the generation of the change feed. The generation combines the epoch of the database with the
 * timeline of the WAL; both only increase.
 */
export const GENERATION = `(SELECT epoch * 4294967296
  + ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint FROM change_epoch)`;

/**
 * The SQL expression for the `xid` of a new row in the change feed. The `xid` is the higher of two numbers: the id of
 * the row's own transaction, and the latest id whose transaction had ended when the row was written. The transaction's
 * own id is not enough, because a transaction gets its id at its first lock. A transaction with a higher id may
 * therefore have changed the same record and ended before this transaction locked the record.
 */
const PLACE = `(SELECT greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1))`;

/**
 * Returns the SQL that appends rows to the change feed. The statement runs in the same transaction as the changes that
 * it records, after that transaction's last lock.
 *
 * 1. The `xid` of a row is not lower than the id of its own transaction, and not lower than the `xid` of any earlier
 *    change to the same record. Ids are assigned in order, but transactions end in any order.
 * 2. A reader sees only rows whose `xid` is below the `xmin` of its snapshot. Every transaction below `xmin` has ended,
 *    so no row can appear among or before the rows already read. Rows are ordered by (generation, xid, position).
 * 3. Transaction ids restart when a dump is restored. A promoted standby reuses the ids of transactions that it never
 *    received. In both cases a new generation begins, and readers may read every row of the older generations. After a
 *    crash, and in a copy of the data folder, only ids of transactions that left no rows are reused: none of them
 *    occurs in a stored position (change-feed.ts).
 * 4. Each month is a partition (`keep_change_partitions`); retention drops whole partitions.
 *
 * Always write a row in the transaction that makes the change, and never order the feed by time.
 *
 * @param rows SQL that selects the columns at, kind, change, account_code, svc_eligiblity_id, candidate_id, test_code,
 * booking_code, status, revision, event_sequence, notification, in this order
 */
export const insertChangesOf = (rows: string): string => `
  INSERT INTO changes (generation, xid, recorded_at, ${COLUMNS})
  SELECT ${GENERATION}, ${PLACE}, statement_timestamp(), changed.* FROM (${rows}) AS changed`;

/**
 * Returns the statement of {@link insertChangesOf} for rows that {@link changesValue} has written as JSON.
 *
 * @param parameter the statement's parameter that contains this JSON
 */
export const insertChanges = (parameter: string): string => insertChangesOf(changeRows(parameter));

/** Returns the SQL that selects the rows which {@link changesValue} has written as JSON. */
export const changeRows = (parameter: string): string =>
  `SELECT ${COLUMNS} FROM json_to_recordset(${parameter}::json) AS given (${ROW})`;

export function changesValue(changes: readonly RecordChange[]): string {
  return JSON.stringify(changes);
}
