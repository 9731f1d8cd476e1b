import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { insertChangesOf } from '../platform/changes/change-log.js';
import { Clock } from '../platform/clock.js';
import { Database, prepared } from '../platform/database/database.js';
import { Logger } from '../platform/observability/logger.js';

const BATCH = 500;

/** What the change feed tells of a record that has just expired. */
export const EXPIRED = `eligibility_end_date, 'ELIGIBILITY', 'EXPIRED', account_code, svc_eligiblity_id, candidate_id, test_code,
  NULL::text, status, NULL::int, NULL::int, NULL::json`;

// A record changed when its window ended, whenever that is noted.
const EXPIRE = prepared(
  'eligibility-expire',
  `WITH due AS (
     SELECT svc_eligiblity_id FROM eligibilities
     WHERE status IN ('PENDING', 'ELIGIBLE') AND eligibility_end_date <= $1
     ORDER BY eligibility_end_date LIMIT ${BATCH} FOR UPDATE SKIP LOCKED),
   expired AS (
     UPDATE eligibilities e
     SET status = 'EXPIRED', updated_datetime = greatest(e.updated_datetime, e.eligibility_end_date)
     FROM due WHERE e.svc_eligiblity_id = due.svc_eligiblity_id
     RETURNING e.*)
   ${insertChangesOf(`SELECT ${EXPIRED} FROM expired ORDER BY eligibility_end_date`)}`,
);

/**
 * Notes what reading knows without it: that a window is over. The change feed tells it from there on, once, whatever number of
 * processes sweep.
 */
@Injectable()
export class ExpirySweep {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  @Interval(15_000)
  async run(): Promise<void> {
    try {
      while ((await this.database.execute(EXPIRE, [this.clock.now()])) === BATCH);
    } catch (error) {
      this.logger.warn({ err: error }, 'the sweep of expiries failed; the next round tries again');
    }
  }
}
