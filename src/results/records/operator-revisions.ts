import { Injectable } from '@nestjs/common';
import { currentAllowedAccounts } from '../../platform/context/request-context.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import type { ListedRevision, RevisionKey } from './result-store.js';
import type { ResultRevision } from './result-revision.entity.js';
import type { ResultState } from './result-state.entity.js';

const OPERATOR = `SELECT svc_eligiblity_id, eligibilities.account_code, test_code, revision, source, received_datetime,
  username, faults, simulated, photo IS NOT NULL AS has_photo, video_link IS NOT NULL AS has_video_link,
  coalesce(result_states.state, 'RELEASED') AS state, result_states.reason AS state_reason
  FROM result_revisions JOIN eligibilities USING (svc_eligiblity_id)
  LEFT JOIN result_states USING (svc_eligiblity_id)`;
const OF_RECORDS = prepared(
  'results-of-records',
  `${OPERATOR} WHERE svc_eligiblity_id = ANY ($1::text[]) ORDER BY result_revisions.position DESC`,
  acrossAccounts.keyInHand,
);
const FIND_FOR_OPERATOR = prepared(
  'results-find-for-operator',
  `${OPERATOR} WHERE svc_eligiblity_id = $1 AND revision = $2
     AND ($3::text[] IS NULL OR eligibilities.account_code = ANY ($3))`,
);
const IS_OF_ACCOUNTS = prepared(
  'results-is-of-accounts',
  'SELECT 1 FROM eligibilities WHERE svc_eligiblity_id = $1 AND account_code = ANY ($2::text[])',
);
const IS_RELEASED = prepared(
  'results-is-released',
  `SELECT NOT EXISTS (SELECT FROM result_states WHERE svc_eligiblity_id = $1 AND state <> 'RELEASED') AS released`,
  acrossAccounts.keyInHand,
);
export type OperatorRevision = ListedRevision &
  Pick<ResultRevision, 'account_code' | 'source' | 'received_datetime' | 'username' | 'simulated' | 'faults'> & {
    test_code: string;
    state: ResultState;
    state_reason: string | null;
  };

/** Reads the revisions of results for operators' lists. */
@Injectable()
export class OperatorRevisions {
  constructor(private readonly database: Database) {}

  /** Returns all result revisions of the given eligibility records, newest first. */
  ofRecords(svcEligibilityIds: readonly string[]): Promise<OperatorRevision[]> {
    return this.database.query<OperatorRevision>(OF_RECORDS, [svcEligibilityIds]);
  }

  /**
   * Returns whether a caller may see the body of an unmatched result. After the result was accepted for an exam, its
   * body is as confidential as the results of the exam.
   * @param exam the exam for which the result was accepted; null if it was not accepted
   * @param isDriver whether the caller has the `results` scope
   */
  async mayShow(exam: string | null, isDriver: boolean): Promise<boolean> {
    if (isDriver || exam === null) return true;
    return (await this.database.queryOne<{ released: boolean }>(IS_RELEASED, [exam]))!.released;
  }

  /** Returns whether the caller may know for which exam an unmatched result was accepted. */
  async mayKnow(exam: string | null): Promise<boolean> {
    const allowed = currentAllowedAccounts();
    if (exam === null || allowed === null) return true;
    return (await this.database.queryOne(IS_OF_ACCOUNTS, [exam, allowed])) !== null;
  }

  find({ svc_eligiblity_id: id, revision }: RevisionKey): Promise<OperatorRevision | null> {
    return this.database.queryOne<OperatorRevision>(FIND_FOR_OPERATOR, [id, revision, currentAllowedAccounts()]);
  }
}
