import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Config } from '../config.js';
import type { ChangeKind, ChangeRow } from '../platform/changes/change.entity.js';
import { GENERATION } from '../platform/changes/change-log.js';
import { Clock } from '../platform/clock.js';
import { Database, opaque, prepared } from '../platform/database/database.js';
import { MOST_TAKEN } from '../platform/http/paging.js';
import { cursorExpired } from './changes.errors.js';
import type { FeedPosition } from './changes.dto.js';

const DAY_S = 86_400;
/** The pauses in which a page waits for transactions that ran when it was asked for: what they hold back stands in it then. */
const PAUSES_MS = [10, 20, 40, 80, 160, 320, 640];

/** Transactions that have ended are those below `xmin`; those that had begun are below `xmax`. */
interface Horizon {
  generation: number;
  xmin: number;
  xmax: number;
  now_s: number;
  /** The beginning of the oldest month that is kept. */
  kept_from_s: number;
}

type Entry = Pick<
  ChangeRow,
  | 'generation'
  | 'xid'
  | 'position'
  | 'recorded_at'
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
>;

const HORIZON = `SELECT ${GENERATION} AS generation,
  pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin,
  pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xmax,
  floor(extract(epoch FROM now()))::bigint AS now_s,
  (SELECT extract(epoch FROM to_timestamp(min(right(relname, 6)) || '01 UTC', 'YYYYMMDD TZ'))::bigint
   FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'changes'::regclass) AS kept_from_s`;

const FIND_HORIZON = prepared('changes-horizon', HORIZON);

// Horizon and rows are of one snapshot. Each kind's rows come in order from the index: a kind that has none costs nothing.
const READ = prepared(
  'changes-read',
  `WITH horizon AS MATERIALIZED (${HORIZON})
   SELECT horizon.xmin, horizon.xmax, page.* FROM horizon LEFT JOIN LATERAL (
     SELECT entry.* FROM unnest(${opaque('$2::text[]')}) AS asked (kind_asked) CROSS JOIN LATERAL (
       SELECT generation, xid, position, recorded_at, at, kind, change, svc_eligiblity_id, candidate_id, test_code,
         booking_code, status, revision, event_sequence, notification
       FROM changes
       WHERE account_code = ${opaque('$1::text')} AND kind = kind_asked
         AND (generation, xid, position) > (${opaque('$3::bigint')}, ${opaque('$4::bigint')}, ${opaque('$5::bigint')})
         AND (generation, xid) < (horizon.generation, horizon.xmin)
         AND recorded_at >= ${opaque('$6::timestamptz')}
       ORDER BY generation, xid, position LIMIT ${MOST_TAKEN}) entry
     ORDER BY generation, xid, position LIMIT $7) page ON true
   ORDER BY page.generation, page.xid, page.position`,
);

/**
 * Reads the change feed (platform/changes/change-log.ts says what its order means).
 *
 * 1. A page ends before the first transaction that still runs: what is beyond may yet get something between.
 * 2. A full page leads to its last row; a page that is not full to `xmin`, below which nothing can appear any more.
 * 3. A row's transaction began after those before it, so that it was recorded at most so much earlier as a transaction
 *    lasts: a day is allowed for that, and partitions before it are not looked into.
 */
@Injectable()
export class ChangeFeed {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  /** The position after all that has been answered by now. */
  async now(): Promise<FeedPosition> {
    const asked = await this.horizon();
    let reached = asked;
    for (const ms of PAUSES_MS) {
      if (reached.xmin >= asked.xmax) break;
      await pause(ms);
      reached = await this.horizon();
    }
    return this.positionAt(asked.generation, Math.min(reached.xmin, asked.xmax), asked.now_s);
  }

  /** A page after the position, and where the next one begins. @throws DomainError cursor_expired */
  async read(
    accountCode: string,
    kinds: readonly ChangeKind[],
    after: FeedPosition | null,
    limit: number,
  ): Promise<{ entries: Entry[]; next: FeedPosition }> {
    const horizon = await this.horizon();
    if (after) this.assertKept(after, horizon);
    const oldest = horizon.now_s - this.config.changesRetentionDays * DAY_S;
    const recordedFrom = new Date(Math.max(oldest, (after?.recordedS ?? 0) - DAY_S) * 1000);
    for (let waits = 0; ; waits++) {
      const rows = await this.database.query<Entry & Pick<Horizon, 'xmin' | 'xmax'>>(READ, [
        accountCode,
        kinds,
        after?.generation ?? 0,
        after?.xid ?? 0,
        after?.position ?? 0,
        recordedFrom,
        limit,
      ]);
      const [{ xmin }] = rows;
      const entries = rows.filter((row) => row.xid !== null);
      if (entries.length === limit) {
        const { generation, xid, position, recorded_at } = entries.at(-1)!;
        const recordedS = Math.floor(recorded_at.getTime() / 1000);
        return { entries, next: { generation, xid, position, recordedS, givenS: this.nowS() } };
      }
      if (xmin >= horizon.xmax || waits === PAUSES_MS.length)
        return { entries, next: this.positionAt(horizon.generation, xmin, horizon.now_s) };
      await pause(PAUSES_MS[waits]);
    }
  }

  private async horizon(): Promise<Horizon> {
    return (await this.database.queryOne<Horizon>(FIND_HORIZON))!;
  }

  private assertKept(after: FeedPosition, { generation, xmax, kept_from_s }: Horizon): void {
    const isOver = after.givenS < this.nowS() - this.config.changesRetentionDays * DAY_S;
    const isAhead = after.generation > generation || (after.generation === generation && after.xid > xmax);
    if (isOver || isAhead || after.recordedS < kept_from_s) throw cursorExpired.error();
  }

  private positionAt(generation: number, xid: number, recordedS: number): FeedPosition {
    return { generation, xid, position: 0, recordedS, givenS: this.nowS() };
  }

  private nowS(): number {
    return Math.floor(this.clock.now().getTime() / 1000);
  }
}
