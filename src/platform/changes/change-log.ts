import type { Change, ChangeKind } from './change.entity.js';

/** A change of a record, as an entry of the change feed. */
export interface RecordChange {
  readonly kind: ChangeKind;
  readonly change: Change;
  readonly at: Date;
  readonly account_code: string;
  readonly svc_eligiblity_id: string;
  readonly candidate_id: string;
  readonly test_code: string;
  /** Of the record, after the change. */
  readonly status: string;
  readonly booking_code?: string | null;
  readonly revision?: number | null;
  /** The NotificationRequest and its place among its booking's, when partners are notified. */
  readonly notification?: object | null;
  readonly event_sequence?: number | null;
}

const ROW = `at timestamptz, kind text, change text, account_code text, svc_eligiblity_id text, candidate_id text,
  test_code text, booking_code text, status text, revision int, event_sequence int, notification json`;
const COLUMNS = ROW.replaceAll(/(\w+) \w+/g, '$1');

/** The life of the database, and the timeline of its log in it: both only go up. */
export const GENERATION = `(SELECT epoch * 4294967296
  + ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint FROM change_epoch)`;

/**
 * The place of a row, an id of a transaction: its own transaction's, or the latest that had ended when the row was written if that
 * is higher. A transaction has its id from its first lock; another that began later may have changed a record, and ended, before
 * this one locked the same.
 */
const PLACE = `(SELECT greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1))`;

/**
 * The change feed, written in the transaction of the change, by a statement of its own after the last lock.
 *
 * 1. A row's place is not below its own transaction's id, and not below that of any change of the same record before it.
 *    Ids are given in order, transactions end in any order.
 * 2. A reader sees the rows below its snapshot's `xmin` alone: every transaction below it has ended, so no row can appear
 *    among or before those that were read. Their order is (generation, xid, position).
 * 3. Ids of transactions begin again when a dump is restored, and a standby that is promoted gives those again whose transactions
 *    it never heard of. Both begin a generation, and every row of an older one has settled. After a crash, and in a copy of the
 *    data folder, ids are given again that left nothing behind: no position is one of those (change-feed.ts).
 * 4. A month's rows are a partition (`keep_change_partitions`); retention drops it.
 *
 * Never write a row in a transaction other than the change's, and never order the feed by time.
 *
 * @param rows SQL of the columns at, kind, change, account_code, svc_eligiblity_id, candidate_id, test_code, booking_code,
 *   status, revision, event_sequence, notification, in this order
 */
export const insertChangesOf = (rows: string): string => `
  INSERT INTO changes (generation, xid, recorded_at, ${COLUMNS})
  SELECT ${GENERATION}, ${PLACE}, statement_timestamp(), changed.* FROM (${rows}) AS changed`;

/** As {@link insertChangesOf}, of the value of {@link changesValue} at this parameter. */
export const insertChanges = (parameter: string): string =>
  insertChangesOf(`SELECT ${COLUMNS} FROM json_to_recordset(${parameter}::json) AS given (${ROW})`);

export function changesValue(changes: readonly RecordChange[]): string {
  return JSON.stringify(changes);
}
