import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { tellingChanges } from '../platform/changes/record-event.js';
import { Clock } from '../platform/clock.js';
import { acrossAccounts, Database, prepared, type Statement } from '../platform/database/database.js';
import { EVENT_COLUMNS, type EventRow } from '../platform/events/outbox.js';
import { Logger } from '../platform/observability/logger.js';
import { sweep } from '../platform/sweep.js';
import { EligibilityExpired } from './eligibility.events.js';
import { OPEN } from './eligibility.fields.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';

const BATCH = 500;

/** Returns SQL that locks the open records for which the condition is true. */
export const lockOpen = (where: string): string => `
  SELECT svc_eligiblity_id FROM eligibilities WHERE ${OPEN} AND ${where} FOR UPDATE`;

const LOCK_OVER = prepared(
  'eligibility-lock-over',
  `${lockOpen(`eligibility_end_date <= $1 ORDER BY eligibility_end_date LIMIT ${BATCH}`)} SKIP LOCKED`,
  acrossAccounts.sweep,
);
const EXPIRE = prepared(
  'eligibility-expire',
  `WITH expired AS (
     UPDATE eligibilities SET status = 'EXPIRED', updated_datetime = greatest(updated_datetime, eligibility_end_date)
     WHERE svc_eligiblity_id = ANY ($1::text[]) AND eligibility_end_date <= $2 RETURNING *),
   ${tellingChanges(
     `SELECT eligibility_end_date, 'ELIGIBILITY', '${EligibilityExpired.change}', account_code, svc_eligiblity_id,
        candidate_id, test_code, NULL::text, status, NULL::int, NULL::int, NULL::json
      FROM expired ORDER BY eligibility_end_date`,
     'NULL',
   )}
   SELECT ${EVENT_COLUMNS} FROM told`,
  acrossAccounts.keyInHand,
);

/**
 * Stores the expiry of the open records that the statement `lock` selects, in the current unit of work. Returns the
 * number of records. The end of the window becomes the time of the change. The records are locked first, so that the
 * change feed lists their earlier changes before the expiry.
 */
export async function noteExpiry(
  database: Database,
  unitOfWork: UnitOfWork,
  lock: Statement,
  values: unknown[],
  now: Date,
): Promise<number> {
  const locked = await database.query<{ svc_eligiblity_id: string }>(lock, values);
  if (locked.length === 0) return 0;
  const ids = locked.map((record) => record.svc_eligiblity_id);
  unitOfWork.publishAfterCommit(await database.query<EventRow>(EXPIRE, [ids, now]));
  return locked.length;
}

/**
 * Stores the expiry of records whose window is over. Responses show such records as EXPIRED even before the expiry is
 * stored. The change feed reports each expiry once, even if several processes sweep at the same time.
 */
@Injectable()
export class ExpirySweep {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    clock.follow({ catchUp: () => this.run() });
  }

  @Interval(15_000)
  async run(): Promise<void> {
    await sweep(this.logger, 'expiries', BATCH, [() => this.note()]);
  }

  private note(): Promise<number> {
    const now = this.clock.now();
    return this.unitOfWork.run(() => noteExpiry(this.database, this.unitOfWork, LOCK_OVER, [now], now));
  }
}
