import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { insertChangesOf } from '../platform/changes/change-log.js';
import { Clock } from '../platform/clock.js';
import { Database, prepared } from '../platform/database/database.js';
import { Logger } from '../platform/observability/logger.js';
import { sweep } from '../platform/sweep.js';

const BATCH = 500;

/**
 * SQL that notes of the open records of the condition, whose windows are over, that they are. A record changed when its window
 * ended, whenever that is noted.
 */
export const noteExpiry = (where: string): string => `
  WITH expired AS (
    UPDATE eligibilities SET status = 'EXPIRED', updated_datetime = greatest(updated_datetime, eligibility_end_date)
    WHERE status IN ('PENDING', 'ELIGIBLE') AND ${where} RETURNING *)
  ${insertChangesOf(`
    SELECT eligibility_end_date, 'ELIGIBILITY', 'EXPIRED', account_code, svc_eligiblity_id, candidate_id, test_code,
      NULL::text, status, NULL::int, NULL::int, NULL::json
    FROM expired ORDER BY eligibility_end_date`)}`;

const EXPIRE = prepared(
  'eligibility-expire',
  noteExpiry(`svc_eligiblity_id = ANY (ARRAY(
    SELECT svc_eligiblity_id FROM eligibilities
    WHERE status IN ('PENDING', 'ELIGIBLE') AND eligibility_end_date <= $1
    ORDER BY eligibility_end_date LIMIT ${BATCH} FOR UPDATE SKIP LOCKED))`),
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
  ) {
    clock.follow({ catchUp: () => this.run() });
  }

  @Interval(15_000)
  async run(): Promise<void> {
    await sweep(this.logger, 'expiries', BATCH, [() => this.database.execute(EXPIRE, [this.clock.now()])]);
  }
}
