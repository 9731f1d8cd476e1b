import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { ChangesConfig } from './changes.config.js';
import { CHANGE_KINDS, type ChangeKind, type ChangeRow } from '../platform/changes/change.entity.js';
import { GENERATION } from '../platform/changes/change-log.js';
import { Clock } from '../platform/clock.js';
import { Database, unestimated, prepared } from '../platform/database/database.js';
import { MOST_TAKEN } from '../platform/http/paging.js';
import { cursorExpired } from './changes.errors.js';
import type { FeedPosition } from './changes.dto.js';

const DAY_S = 86_400;
/**
 * The pauses, in milliseconds, between repeated reads of a page. The request waits for the end of the transactions that
 * were running when it arrived. The page can then contain the entries that those transactions hold back.
 */
const PAUSES_MS = [10, 20, 40, 80, 160, 320, 640];

/** The position in the change feed beyond which entries are not yet shown. */
interface Horizon {
  generation: number;
  /**
   * The bounds of a database snapshot. When the snapshot was taken, every transaction below `xmin` had ended, and every
   * transaction below `xmax` had begun.
   */
  xmin: number;
  xmax: number;
  now_s: number;
  /** The end of the latest month whose partition was dropped; 0 if no partition was dropped. */
  kept_from_s: number;
}

export type Entry = Pick<
  ChangeRow,
  | 'generation'
  | 'xid'
  | 'position'
  | 'at'
  | 'kind'
  | 'change'
  | 'svc_eligiblity_id'
  | 'candidate_id'
  | 'test_code'
  | 'booking_code'
  | 'status'
  | 'revision'
  | 'event_sequence'
  | 'notification'
> & { recorded_us: number };

const HORIZON = `SELECT ${GENERATION} AS generation,
  pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin,
  pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xmax,
  floor(extract(epoch FROM now()))::bigint AS now_s,
  coalesce((SELECT extract(epoch FROM dropped_until) FROM change_epoch), 0)::bigint AS kept_from_s`;
const PLACE = `generation, xid, position, (extract(epoch FROM recorded_at) * 1000000)::bigint AS recorded_us`;
const SETTLED = '(generation, xid) < (horizon.generation, horizon.xmin)';

// Reads a page of entries, and the horizon up to which entries are shown, in one snapshot. Each kind of entry is read
// from an index that is sorted like the feed, so a kind without entries costs nothing.
const READ = prepared(
  'changes-read',
  `WITH horizon AS MATERIALIZED (${HORIZON})
   SELECT horizon.generation AS horizon_generation, horizon.xmin, horizon.xmax, horizon.now_s, horizon.kept_from_s, page.*,
     ${unestimated('$4::bigint')} = 0 OR EXISTS (
       SELECT FROM changes
       WHERE account_code = ${unestimated('$1::text')} AND kind = ANY ('{${CHANGE_KINDS.join(',')}}')
         AND generation = ${unestimated('$3::bigint')} AND xid = ${unestimated('$4::bigint')} AND position = ${unestimated('$5::bigint')}
         AND recorded_at = (SELECT timestamptz 'epoch' + $6::bigint * interval '1 microsecond')) AS is_known
   FROM horizon LEFT JOIN LATERAL (
     SELECT entry.* FROM unnest(${unestimated('$2::text[]')}) AS asked (kind_asked) CROSS JOIN LATERAL (
       SELECT ${PLACE}, at, kind, change, svc_eligiblity_id, candidate_id, test_code, booking_code, status, revision,
         event_sequence, notification
       FROM changes
       WHERE account_code = ${unestimated('$1::text')} AND kind = kind_asked
         AND (generation, xid, position) > (${unestimated('$3::bigint')}, ${unestimated('$4::bigint')}, ${unestimated('$5::bigint')})
         AND ${SETTLED}
         AND recorded_at >= (
           SELECT to_timestamp(CASE WHEN $7::bigint = 0 THEN now_s - $8::bigint ELSE $7::bigint - ${DAY_S} END) FROM horizon)
       ORDER BY generation, xid, position LIMIT ${MOST_TAKEN}) entry
     ORDER BY generation, xid, position LIMIT $9) page ON true
   ORDER BY page.generation, page.xid, page.position`,
);

const READ_LAST = prepared(
  'changes-read-last',
  `WITH horizon AS MATERIALIZED (${HORIZON})
   SELECT horizon.generation AS horizon_generation, horizon.xmin, horizon.xmax, horizon.now_s, horizon.kept_from_s, last.*
   FROM horizon LEFT JOIN LATERAL (
     SELECT entry.* FROM unnest(${unestimated('$2::text[]')}) AS asked (kind_asked) CROSS JOIN LATERAL (
       SELECT ${PLACE} FROM changes
       WHERE account_code = ${unestimated('$1::text')} AND kind = kind_asked AND ${SETTLED}
         AND (generation, xid) < (${unestimated('$3::bigint')}, ${unestimated('$4::bigint')})
       ORDER BY generation DESC, xid DESC, position DESC LIMIT 1) entry
     ORDER BY generation DESC, xid DESC, position DESC LIMIT 1) last ON true`,
);

/**
 * A row of the statement that reads a page. It contains an entry, and the horizon up to which entries are shown. For an
 * empty page, the statement returns one row without an entry.
 */
type Answered<Row> = Omit<Horizon, 'generation'> & { horizon_generation: number } & Row;
type Place = Pick<Entry, 'generation' | 'xid' | 'position' | 'recorded_us'>;

const BEGINNING: Place = { generation: 0, xid: 0, position: 0, recorded_us: 0 };

// Reads the committed change feed entries about the given records, newest first. Unlike a page of the feed, the result
// has no cursor, so no entries need to be held back.
const OF_RECORDS = prepared(
  'changes-of-records',
  `SELECT ${PLACE}, at, kind, change, svc_eligiblity_id, candidate_id, test_code, booking_code, status, revision,
     event_sequence, notification
   FROM changes WHERE svc_eligiblity_id = ANY ($2::text[]) AND account_code = $1
   ORDER BY generation DESC, xid DESC, position DESC LIMIT $3`,
);

/**
 * Reads the change feed (platform/changes/change-log.ts explains its order).
 *
 * 1. A page ends before the entries of the first running transaction, because entries may still appear beyond that
 *    point.
 * 2. The cursor of a page is the position of its last entry. The cursor of an empty page is the requested position.
 *    Entries that are added later are sorted after every entry that was shown. A shown entry is in the WAL, so that its
 *    transaction id is not reused after a crash.
 * 3. If the database no longer contains the entry of a cursor, that entry was lost when the database was restored.
 *    Later entries may then have any position, so the cursor is refused.
 * 4. An entry that follows the cursor may have been recorded before the cursor's entry, because concurrent transactions
 *    recorded the entries. The feed allows a day for this delay, and does not read older partitions.
 * 5. Expired entries are skipped only if the request has no cursor. After an accepted cursor, every entry is shown
 *    until its partition is dropped; from then on, the cursor is refused. A partition is dropped a day after its
 *    entries have expired, so that no cursor within the retention period needs it.
 *
 * test/proof/model/feed contains a formal model of this protocol. Change the model first.
 */
@Injectable()
export class ChangeFeed {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly config: ChangesConfig,
  ) {}

  /** Returns the position in the change feed after all changes that have been committed so far. */
  async now(accountCode: string): Promise<FeedPosition> {
    let asked: Horizon | null = null;
    for (let waits = 0; ; waits++) {
      const [row] = await this.database.query<Answered<Place | { xid: null }>>(READ_LAST, [
        accountCode,
        CHANGE_KINDS,
        asked?.generation ?? Number.MAX_SAFE_INTEGER,
        asked?.xmax ?? Number.MAX_SAFE_INTEGER,
      ]);
      const horizon = horizonOf(row);
      asked ??= horizon;
      if (hasSettled(asked, horizon) || waits === PAUSES_MS.length)
        return this.positionAt(row.xid === null ? BEGINNING : row, asked.now_s);
      await pause(PAUSES_MS[waits]);
    }
  }

  /**
   * Returns the page of entries after the given position, and the position at which the next page begins.
   * @throws DomainError cursor_expired
   */
  async read(
    accountCode: string,
    kinds: readonly ChangeKind[],
    after: FeedPosition | null,
    limit: number,
  ): Promise<{ entries: Entry[]; next: FeedPosition }> {
    const retentionS = this.config.retentionDays * DAY_S;
    if (after !== null && after.issuedS < this.nowS() - retentionS) throw cursorExpired.error();
    const from: Place = after === null ? BEGINNING : { ...after, recorded_us: after.recordedUs };
    let asked: Horizon | null = null;
    for (let waits = 0; ; waits++) {
      const rows = await this.database.query<Answered<Entry | { xid: null }> & { is_known: boolean }>(READ, [
        accountCode,
        kinds,
        from.generation,
        from.xid,
        from.position,
        from.recorded_us,
        after?.completeUntilS ?? 0,
        retentionS,
        limit,
      ]);
      const horizon = horizonOf(rows[0]);
      asked ??= horizon;
      // While the request waits, the partition that contains the cursor's entry may be dropped. Each read therefore
      // checks again whether the cursor is still valid.
      const isDropped = from.recorded_us < horizon.kept_from_s * 1_000_000;
      if (after !== null && (after.completeUntilS - DAY_S < horizon.kept_from_s || !(rows[0].is_known || isDropped)))
        throw cursorExpired.error();
      const entries = rows.filter((row): row is Answered<Entry> & { is_known: boolean } => row.xid !== null);
      const last = entries.at(-1) ?? from;
      if (entries.length === limit)
        return { entries, next: this.positionAt(last, Math.floor(last.recorded_us / 1_000_000)) };
      if (hasSettled(asked, horizon) || waits === PAUSES_MS.length)
        return { entries, next: this.positionAt(last, asked.now_s) };
      await pause(PAUSES_MS[waits]);
    }
  }

  /** Returns the newest change feed entries about the given eligibility records, newest first. */
  ofRecords(accountCode: string, svcEligibilityIds: readonly string[], limit: number): Promise<Entry[]> {
    return this.database.query<Entry>(OF_RECORDS, [accountCode, svcEligibilityIds, limit]);
  }

  private positionAt({ generation, xid, position, recorded_us }: Place, completeUntilS: number): FeedPosition {
    return { generation, xid, position, recordedUs: recorded_us, completeUntilS, issuedS: this.nowS() };
  }

  private nowS(): number {
    return Math.floor(this.clock.now().getTime() / 1000);
  }
}

function horizonOf({ horizon_generation, xmin, xmax, now_s, kept_from_s }: Answered<unknown>): Horizon {
  return { generation: horizon_generation, xmin, xmax, now_s, kept_from_s };
}

/**
 * Returns whether all transactions that were running at the time of the request have ended. A new generation of the
 * feed (after a restore) implies that these transactions have ended, because a generation begins only after all writers
 * have ended.
 */
function hasSettled(asked: Horizon, { generation, xmin }: Horizon): boolean {
  return generation !== asked.generation || xmin >= asked.xmax;
}
