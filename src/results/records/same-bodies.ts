import { Injectable } from '@nestjs/common';
import type { LockedEligibility } from '../../eligibility/eligibility.commands.js';
import { currentAllowedAccounts } from '../../platform/context/request-context.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import type { Delivery } from '../body/result-body.js';
import type { ResultSource } from '../body/results.rules.js';

/** The SQL condition that the revision `same` is the newest revision of its exam from its source. */
const IS_LAST = `NOT EXISTS (SELECT FROM result_revisions newer
     WHERE newer.svc_eligiblity_id = same.svc_eligiblity_id AND newer.source = same.source
       AND newer.revision > same.revision)`;
const IS_NEWEST_OF_ACCOUNT = prepared(
  'results-is-newest-somewhere-account',
  `SELECT 1 FROM result_revisions same
   WHERE account_code = $1 AND body_hash = $2 AND source = 'ACCOUNT' AND ${IS_LAST} LIMIT 1`,
);
// The search includes results in other accounts if the same user sent them. An operator may have accepted the user's
// result for an exam of another account.
const IS_NEWEST_OF_REGISTRATION = prepared(
  'results-is-newest-somewhere-registration',
  `SELECT 1 FROM result_revisions same
   WHERE ($1::text[] IS NULL OR account_code = ANY ($1::text[]) OR username = $3) AND body_hash = $2
     AND source = 'REGISTRATION' AND ${IS_LAST} LIMIT 1`,
  acrossAccounts.matching,
);
const ACCOUNT_ACCEPTED_ELSEWHERE = prepared(
  'results-is-accepted-elsewhere-account',
  `SELECT 1 FROM result_revisions same
   WHERE account_code = $4 AND body_hash = $1 AND source = 'ACCOUNT' AND username = $2 AND svc_eligiblity_id <> $3
     AND ${IS_LAST} LIMIT 1`,
);
const REGISTRATION_ACCEPTED_ELSEWHERE = prepared(
  'results-is-accepted-elsewhere-registration',
  `SELECT 1 FROM result_revisions same
   WHERE body_hash = $1 AND source = 'REGISTRATION' AND username = $2 AND svc_eligiblity_id <> $3 AND ${IS_LAST} LIMIT 1`,
  acrossAccounts.matching,
);
const FIND_NEWEST = prepared(
  'results-find-newest',
  // Locks and selects the unmatched results with the same body from the same user. A transaction that settles such a
  // result locks the row of the exam first, and then the row of the result.
  `WITH same AS (
     SELECT accepted_datetime IS NULL AS is_waiting, settled_by = 'OPERATOR' AND svc_eligiblity_id <> $1 AS is_elsewhere
     FROM unmatched_results
     WHERE body_hash = $3 AND source = $2 AND username = $4 AND account_code IS NOT DISTINCT FROM $5
     ORDER BY id FOR UPDATE)
   SELECT coalesce(max(revision), 0) AS revision,
     EXISTS (SELECT FROM same WHERE is_waiting) AS is_waiting,
     EXISTS (SELECT FROM same WHERE is_elsewhere) AS is_elsewhere,
     (SELECT booking_code FROM bookings WHERE svc_eligiblity_id = $1 AND status IN ('BOOKED', 'ABSENT', 'COMPLETED')
      ORDER BY created_datetime DESC LIMIT 1) AS booking_code,
     (SELECT body_hash FROM result_revisions WHERE svc_eligiblity_id = $1 AND source = $2
      ORDER BY revision DESC LIMIT 1) AS body_hash
   FROM result_revisions WHERE svc_eligiblity_id = $1`,
  acrossAccounts.matching,
);
/** The state of an exam for which a result body was delivered. */
export interface Newest {
  /** The number of the exam's newest revision; 0 if there is none. */
  readonly revision: number;
  readonly booking_code: string | null;
  /**
   * The hash of the body in the exam's newest revision from the same source (registration or account); null if there is
   * none.
   */
  readonly body_hash: Buffer | null;
  /** Whether an unmatched result with the same body from the same user waits for an operator. */
  readonly is_waiting: boolean;
  /** Whether an operator has accepted the same body from the same user for a different exam. */
  readonly is_elsewhere: boolean;
}

/** Finds exams for which the same body was already accepted, and unmatched results with the same body. */
@Injectable()
export class SameBodies {
  constructor(private readonly database: Database) {}

  /**
   * Returns whether the delivered body equals the newest account result of any exam in the account. If `accountCode` is
   * null, the body is compared with registration results instead. These are the newest results of the exams that the
   * caller may see, and the newest results that the same user sent.
   */
  async isNewestSomewhere(accountCode: string | null, { body: { hash }, username }: Delivery): Promise<boolean> {
    const found =
      accountCode === null
        ? this.database.queryOne(IS_NEWEST_OF_REGISTRATION, [currentAllowedAccounts(), hash, username])
        : this.database.queryOne(IS_NEWEST_OF_ACCOUNT, [accountCode, hash]);
    return (await found) !== null;
  }

  /**
   * Returns whether this body, delivered by the same user, is already the newest revision of another exam. For an
   * account result, only the exams of the same account are searched.
   */
  async isAcceptedElsewhere(
    { svc_eligiblity_id, account_code }: LockedEligibility,
    source: ResultSource,
    hash: Buffer,
    username: string,
  ): Promise<boolean> {
    const values = [hash, username, svc_eligiblity_id];
    const found =
      source === 'ACCOUNT'
        ? this.database.queryOne(ACCOUNT_ACCEPTED_ELSEWHERE, [...values, account_code])
        : this.database.queryOne(REGISTRATION_ACCEPTED_ELSEWHERE, values);
    return (await found) !== null;
  }

  /**
   * Returns whether, and where, the body that was delivered for a locked exam is stored already. Also locks the
   * unmatched results with the same body.
   */
  async findNewest(exam: LockedEligibility, source: ResultSource, hash: Buffer, username: string): Promise<Newest> {
    const account = source === 'ACCOUNT' ? exam.account_code : null;
    const newest = await this.database.queryOne<Newest>(FIND_NEWEST, [
      ...[exam.svc_eligiblity_id, source, hash, username],
      account,
    ]);
    return newest!;
  }
}
