import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { Interval } from '@nestjs/schedule';
import { FindExpiringDays, type ExpiringDays } from '../accounts/accounts.queries.js';
import { tellingChanges } from '../platform/changes/record-event.js';
import { Clock } from '../platform/clock.js';
import { acrossAccounts, Database, prepared } from '../platform/database/database.js';
import { EVENT_COLUMNS, type EventRow } from '../platform/events/outbox.js';
import { Logger } from '../platform/observability/logger.js';
import { sweep } from '../platform/sweep.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { EligibilityExpiring } from './eligibility.events.js';
import { OPEN } from './eligibility.fields.js';

const BATCH = 500;
/** The maximum share of the process's time that this sweep may take. */
const SHARE = 1 / 20;

// Locks, for one account, the open records whose scheduling window will soon end. A record is returned once for each
// given number of days within which its window ends, unless the end was already announced for this number of days. $1:
// account; $2: numbers of days; $3: current time; $4: the earliest end to read, which is the last end of the previous
// batch.
const LOCK_ENDING = prepared(
  'eligibility-lock-ending',
  `SELECT e.svc_eligiblity_id, e.eligibility_end_date, announced.days
   FROM eligibilities e CROSS JOIN unnest($2::int[]) AS announced (days)
   WHERE e.account_code = $1 AND e.${OPEN} AND e.eligibility_end_date > $3 AND e.eligibility_end_date >= $4
     AND e.eligibility_end_date <= $3 + announced.days * interval '1 day'
     AND NOT EXISTS (
       SELECT FROM expiry_notices made
       WHERE made.svc_eligiblity_id = e.svc_eligiblity_id AND made.account_code = $1
         AND made.eligibility_end_date = e.eligibility_end_date AND made.days = announced.days)
   ORDER BY e.eligibility_end_date, announced.days DESC LIMIT ${BATCH} FOR UPDATE OF e SKIP LOCKED`,
);
// The time of an `EXPIRING` change is the given number of days before the end of the window. If the record changed
// after that time, the time of its last change is used instead.
const ANNOUNCE = prepared(
  'eligibility-announce-end',
  `WITH noted AS (
     INSERT INTO expiry_notices (svc_eligiblity_id, account_code, eligibility_end_date, days)
     SELECT e.svc_eligiblity_id, $1, e.eligibility_end_date, ending.days
     FROM unnest($2::text[], $3::int[]) AS ending (svc_eligiblity_id, days)
     JOIN eligibilities e USING (svc_eligiblity_id) WHERE e.account_code = $1
     ON CONFLICT ON CONSTRAINT expiry_notices_pk DO NOTHING
     RETURNING svc_eligiblity_id, account_code, eligibility_end_date, days),
   ${tellingChanges(
     `SELECT greatest(noted.eligibility_end_date - noted.days * interval '1 day', e.updated_datetime), 'ELIGIBILITY',
        '${EligibilityExpiring.change}', e.account_code, e.svc_eligiblity_id, e.candidate_id, e.test_code, NULL::text,
        e.status, NULL::int, NULL::int, NULL::json
      FROM noted JOIN eligibilities e USING (svc_eligiblity_id) WHERE e.account_code = $1
      ORDER BY noted.eligibility_end_date, noted.days DESC`,
     'NULL',
   )}
   SELECT ${EVENT_COLUMNS} FROM told`,
);
const FORGET_PAST = prepared(
  'eligibility-forget-past-ends',
  `DELETE FROM expiry_notices WHERE ctid IN (
     SELECT ctid FROM expiry_notices WHERE eligibility_end_date <= $1 LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
  acrossAccounts.sweep,
);

interface Ending {
  svc_eligiblity_id: string;
  eligibility_end_date: Date;
  days: number;
}

/**
 * Announces, with an `EXPIRING` change, that the scheduling window of an eligibility record will end soon. Each account
 * configures how many days before the end the announcement is made. An account may configure several announcements.
 * Each announcement is made only once, even if several processes sweep at the same time. A row that prevents a second
 * announcement is stored in the same transaction, while the record is locked.
 */
@Injectable()
export class ExpiringSweep {
  private notBefore = 0;

  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly queryBus: QueryBus,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    clock.follow({ catchUp: () => this.run() });
  }

  @Interval(15_000)
  async sweepInTurn(): Promise<void> {
    if (performance.now() >= this.notBefore) await this.run();
  }

  async run(): Promise<void> {
    const begun = performance.now();
    try {
      for (const account of await this.queryBus.execute(new FindExpiringDays())) await this.announceAll(account);
    } catch (error) {
      this.logger.warn({ err: error }, 'the ends of windows could not be announced; the next round tries again');
    }
    const now = this.clock.now();
    await sweep(this.logger, 'announced ends of windows', BATCH, [() => this.database.execute(FORGET_PAST, [now])]);
    this.notBefore = performance.now() + (performance.now() - begun) / SHARE;
  }

  private async announceAll(account: ExpiringDays): Promise<void> {
    for (let after: Date | null = this.clock.now(); after !== null;) after = await this.announce(account, after);
  }

  /**
   * Announces the end of each window in a batch. Returns the latest end in the batch; null if there are no more
   * batches.
   */
  private announce({ account_code, expiring_days }: ExpiringDays, after: Date): Promise<Date | null> {
    return this.unitOfWork.run(async () => {
      const now = this.clock.now();
      const ending = await this.database.query<Ending>(LOCK_ENDING, [account_code, expiring_days, now, after]);
      if (ending.length === 0) return null;
      const told = await this.database.query<EventRow>(ANNOUNCE, [
        account_code,
        ending.map((record) => record.svc_eligiblity_id),
        ending.map((record) => record.days),
      ]);
      this.unitOfWork.publishAfterCommit(told);
      return ending.length === BATCH ? ending[BATCH - 1].eligibility_end_date : null;
    });
  }
}
