import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { eligibilityNotFound } from '../../eligibility/eligibility.errors.js';
import { FindOperatorRecords } from '../../eligibility/eligibility.queries.js';
import type { OperatorEligibilityModel } from '../../eligibility/operator-record.fields.js';
import { ACROSS_ACCOUNTS } from '../../platform/context/caller.js';
import { currentAllowedAccounts } from '../../platform/context/request-context.js';
import { Database, prepared } from '../../platform/database/database.js';
import { FindKnownAccounts } from '../../platform/known-accounts.js';

/**
 * Finds the exams that a code identifies. $1: accounts; $2: code. The kinds of code are tried in the same order as in
 * the matching of results.
 */
const FIND = prepared(
  'results-exam-of-code',
  `SELECT svc_eligiblity_id, rank FROM (
     SELECT svc_eligiblity_id, 1 AS rank FROM eligibilities WHERE svc_eligiblity_id = upper($2) AND account_code = ANY ($1::text[])
     UNION ALL
     SELECT svc_eligiblity_id, 2 FROM bookings
     WHERE booking_code = upper($2) AND account_code = ANY ($1::text[]) AND status <> 'CANCELLED'
     UNION ALL
     SELECT svc_eligiblity_id, 3 FROM eligibilities
     WHERE account_code = ANY ($1::text[]) AND client_eligibility_id = $2 AND status <> 'CANCELLED') AS found
   ORDER BY rank LIMIT 2`,
);

/** Finds the exam for a code that an operator has typed, before the operator accepts a result for that exam. */
@Injectable()
export class ExamOfCode {
  constructor(
    private readonly database: Database,
    private readonly queryBus: QueryBus,
  ) {}

  /**
   * Returns the exam that the code identifies.
   * @throws DomainError eligibility_not_found when no account has the code, or several accounts have it
   */
  async find(result: { account_code: string | null }, code: string): Promise<OperatorEligibilityModel> {
    const [first, second] = await this.database.query<{ svc_eligiblity_id: string; rank: number }>(FIND, [
      await this.accountsOf(result),
      code,
    ]);
    const isOne = first !== undefined && first.rank !== second?.rank;
    const [record] = isOne ? await this.queryBus.execute(new FindOperatorRecords([first.svc_eligiblity_id])) : [];
    if (record === undefined) throw eligibilityNotFound.error();
    return record;
  }

  /** Returns the accounts in which the operator may accept the result. */
  private async accountsOf({ account_code }: { account_code: string | null }): Promise<readonly string[]> {
    if (account_code !== null) return [account_code];
    return currentAllowedAccounts() ?? (await this.queryBus.execute(new FindKnownAccounts(ACROSS_ACCOUNTS)));
  }
}
