import { Injectable } from '@nestjs/common';
import { QueryBus, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { FindAccommodationNames } from '../../accounts/accounts.queries.js';
import { Clock, formatDateTime, formatOptionalDateTime } from '../../platform/clock.js';
import { currentAllowedAccounts } from '../../platform/context/request-context.js';
import { acrossAccounts, Database, unestimated, prepared } from '../../platform/database/database.js';
import { afterCursor, type Page } from '../../platform/http/paging.js';
import { FindVouchersOfMany } from '../../vouchers/vouchers.queries.js';
import { presentEligibility } from '../eligibility-record.js';
import type { Eligibility } from '../eligibility.entity.js';
import { eligibilityNotFound } from '../eligibility.errors.js';
import {
  CountWaiting,
  FindEligibilities,
  FindOperatorRecords,
  SurveyOverdueApprovals,
  type OverdueApprovals,
  type WaitingCount,
} from '../eligibility.queries.js';
import { allowedActions } from '../eligibility.rules.js';
import type { OperatorEligibilityModel } from '../operator-record.fields.js';

/**
 * The SQL conditions for the two decisions for which a record can wait: the approval of accommodations, and the release
 * of a hold. A record may wait for both.
 */
export const WAITS = {
  APPROVAL: 'approval_pending AND decline_reason IS NULL',
  HOLD: 'hold_reason IS NOT NULL',
} as const;
export type Wait = keyof typeof WAITS;
/** The SQL conditions on the status of records that wait for a decision. A booked record may also be on hold. */
const HELD_STATUS = { APPROVAL: "status = 'PENDING'", HOLD: "status IN ('PENDING', 'SCHEDULED')" } as const;

const MOST_COUNTED = 10_000;

const FIND = prepared(
  'operator-record-find',
  `SELECT * FROM eligibilities
   WHERE svc_eligiblity_id = $1 AND ($2::text[] IS NULL OR account_code = ANY ($2))`,
);

const FIND_MANY = prepared(
  'operator-records-find',
  'SELECT * FROM eligibilities WHERE svc_eligiblity_id = ANY ($1::text[])',
  acrossAccounts.keyInHand,
);

/**
 * Selects a page of records that wait for a decision. $1: accounts, or null for all; $2: cursor; $3: number of rows;
 * $4: current time. The page is selected first, from an index that contains only waiting records.
 */
const waiting = (wait: Wait) => `
  SELECT e.* FROM (
    SELECT svc_eligiblity_id FROM eligibilities
    WHERE ${HELD_STATUS[wait]} AND ${WAITS[wait]} AND ${afterCursor(unestimated('$2::bigint'))}
      AND (${unestimated('$1::text[]')} IS NULL OR account_code = ANY (${unestimated('$1::text[]')}::text[]))
      AND (eligibility_end_date IS NULL OR eligibility_end_date > ${unestimated('$4::timestamptz')})
    ORDER BY position DESC LIMIT $3) page
  JOIN eligibilities e USING (svc_eligiblity_id) ORDER BY e.position DESC`;
const WAITING = {
  APPROVAL: prepared('operator-records-waiting-for-approval', waiting('APPROVAL')),
  HOLD: prepared('operator-records-held', waiting('HOLD')),
};

/**
 * Selects the account of each record that waits for a decision. $1: current time. Only the indexes that contain waiting
 * records are read.
 */
const waitingAccounts = (wait: Wait, approvals: number, holds: number) => `(
  SELECT account_code, ${approvals} AS approvals, ${holds} AS holds, position FROM eligibilities
  WHERE ${HELD_STATUS[wait]} AND ${WAITS[wait]} AND (eligibility_end_date IS NULL OR eligibility_end_date > $1)
  ORDER BY position DESC LIMIT ${MOST_COUNTED})`;
const COUNT_WAITING = prepared(
  'operator-records-count-waiting',
  `SELECT account_code, sum(approvals)::int AS approvals, sum(holds)::int AS holds, sum(position)::text AS which
   FROM (${waitingAccounts('APPROVAL', 1, 0)} UNION ALL ${waitingAccounts('HOLD', 0, 1)}) waiting GROUP BY 1`,
  acrossAccounts.figures,
);

/**
 * Counts, by account, the records that have waited too long for an approval. $1: current time; $2: the number of hours
 * that a record may wait. The waiting time begins when the record is created.
 */
const OVERDUE_APPROVALS = prepared(
  'operator-records-overdue-approvals',
  `SELECT account_code, count(*)::int AS count, min(created_datetime) AS oldest, max(created_datetime) AS newest
   FROM (
     SELECT account_code, created_datetime FROM eligibilities
     WHERE ${HELD_STATUS.APPROVAL} AND ${WAITS.APPROVAL} AND (eligibility_end_date IS NULL OR eligibility_end_date > $1)
       AND created_datetime < $1::timestamptz - make_interval(hours => $2)
     ORDER BY position LIMIT ${MOST_COUNTED}) waiting
   GROUP BY 1`,
  acrossAccounts.figures,
);

/** Reads eligibility records as operators see them. */
@Injectable()
export class OperatorRecords {
  constructor(
    private readonly database: Database,
    private readonly queryBus: QueryBus,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns one eligibility record as operators see it.
   * @throws DomainError eligibility_not_found
   */
  async get(svcEligibilityId: string): Promise<OperatorEligibilityModel> {
    const record = await this.database.queryOne<Eligibility>(FIND, [svcEligibilityId, currentAllowedAccounts()]);
    if (record === null) throw eligibilityNotFound.error();
    return (await this.present([record]))[0];
  }

  /**
   * Returns the candidate's eligibility records, newest first.
   * @throws DomainError candidate_not_found
   */
  async ofCandidate(accountCode: string, candidateId: string): Promise<OperatorEligibilityModel[]> {
    return this.present(await this.queryBus.execute(new FindEligibilities(accountCode, candidateId)));
  }

  /** Returns a page of the records that wait for the given kind of decision, newest first. */
  waiting(wait: Wait, accountCodes: readonly string[] | null, { after, take }: Page): Promise<Eligibility[]> {
    return this.database.query<Eligibility>(WAITING[wait], [accountCodes, after, take, this.clock.now()]);
  }

  async present(records: readonly Eligibility[]): Promise<OperatorEligibilityModel[]> {
    const now = this.clock.now();
    const ids = records.map((record) => record.svc_eligiblity_id);
    const vouchers = await this.queryBus.execute(new FindVouchersOfMany(ids));
    const names = await this.accommodationNames(records);
    return records.map((record) => ({
      account_code: record.account_code,
      ...presentEligibility(record, now),
      hold_reason: record.hold_reason,
      accommodations: record.special_accommodations.map((code) => ({
        accommodation_code: code,
        name: names.get(`${record.account_code} ${code}`) ?? null,
      })),
      approval_pending: record.approval_pending,
      decline_reason: record.decline_reason,
      booking_code: record.booking_code,
      booking_on: formatOptionalDateTime(record.booking_on),
      voucher_codes: vouchers.get(record.svc_eligiblity_id) ?? [],
      allows: allowedActions(record, now),
      updated_datetime: formatDateTime(record.updated_datetime),
    }));
  }

  /**
   * Returns the names of the records' special accommodations. The keys are the account and the code, separated by a
   * space.
   */
  private async accommodationNames(records: readonly Eligibility[]): Promise<Map<string, string>> {
    const keys = records.flatMap(({ account_code, special_accommodations }) =>
      special_accommodations.map((accommodation_code) => ({ account_code, accommodation_code })),
    );
    const found = await this.queryBus.execute(new FindAccommodationNames(keys));
    return new Map(
      found.map(({ account_code, accommodation_code, name }) => [`${account_code} ${accommodation_code}`, name]),
    );
  }
}

@QueryHandler(FindOperatorRecords)
export class FindOperatorRecordsHandler implements IQueryHandler<FindOperatorRecords> {
  constructor(
    private readonly database: Database,
    private readonly records: OperatorRecords,
  ) {}

  async execute({ svcEligibilityIds }: FindOperatorRecords): Promise<OperatorEligibilityModel[]> {
    return this.records.present(await this.database.query<Eligibility>(FIND_MANY, [svcEligibilityIds]));
  }
}

@QueryHandler(CountWaiting)
export class CountWaitingHandler implements IQueryHandler<CountWaiting> {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  execute(): Promise<WaitingCount[]> {
    return this.database.query<WaitingCount>(COUNT_WAITING, [this.clock.now()]);
  }
}

@QueryHandler(SurveyOverdueApprovals)
export class SurveyOverdueApprovalsHandler implements IQueryHandler<SurveyOverdueApprovals> {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  execute({ hours }: SurveyOverdueApprovals): Promise<OverdueApprovals[]> {
    return this.database.query<OverdueApprovals>(OVERDUE_APPROVALS, [this.clock.now(), hours]);
  }
}
